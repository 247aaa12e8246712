// Where the keyboard is when something closes, goes away or is drawn again; and errors that have no
// field of their own.
import assert from 'node:assert/strict';

import { answer_text, composer, new_thread, send, staged } from '../chat_steps.mjs';
import { must, open_account_menu, settled } from '../harness.mjs';

const dialog = (page) => page.locator('dialog[open]');
const button = (place, name) => place.getByRole('button', { name, exact: true });
const has_focus = (h, locator, what) =>
  h.eventually(() => locator.evaluate((one) => one === document.activeElement), what);

export const flows = staged([
  [
    'a dialog gives the focus back, and goes with its screen',
    async (h) => {
      const user = await h.new_user();
      await must('POST', '/v1/api-keys', { name: 'one' }, { token: user.token });
      const page = await h.signed_in(user, '/account');
      await page.getByRole('link', { name: 'API keys' }).click();
      const revoke = page.getByRole('button', { name: 'Revoke: one' });
      await revoke.waitFor();
      await settled(page);
      await button(page, 'New key').press('Enter');
      await dialog(page).waitFor();
      await page.keyboard.press('Escape');
      await has_focus(h, button(page, 'New key'), 'the focus is where it was');
      await button(page, 'New key').press('Enter');
      // Like the browser does by itself before any action in it.
      await dialog(page).evaluate((one) => one.close());
      await page.locator('dialog').waitFor({ state: 'detached' });
      await revoke.press('Enter');
      await dialog(page).waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
      await dialog(page).waitFor({ state: 'detached' });
    },
  ],

  [
    'a row or button that goes leaves the focus at its table',
    async (h) => {
      const user = await h.new_user();
      const { token } = user;
      await must('POST', '/v1/api-keys', { name: 'one' }, { token });
      const rule = { type: 'blocklist', cidr: '2001:db8::/48' };
      await must('POST', '/v1/ip-rules', rule, { token });
      const page = await h.signed_in(user, '/keys');
      await settled(page);
      await page.getByRole('button', { name: 'Revoke: one' }).press('Enter');
      await button(dialog(page), 'Revoke').press('Enter');
      await page.locator('.mark', { hasText: 'revoked' }).waitFor();
      await has_focus(h, page.getByRole('region', { name: 'API keys' }), 'the table has it');
      await h.t.open(page, '/ip-rules');
      await settled(page);
      await page.getByRole('button', { name: /^Delete: 2001/ }).press('Enter');
      await button(dialog(page), 'Delete').press('Enter');
      await page.locator('tbody tr').waitFor({ state: 'detached' });
      await has_focus(h, page.locator('main'), 'the screen has it');
    },
  ],

  [
    'a title is changed while an answer is written, and the keyboard stays where it is',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, '[delay 40] [say first] [words 2000]');
      await page.locator('.answer').filter({ hasText: 'first' }).waitFor();
      await button(page, 'Rename').press('Enter');
      await has_focus(h, page.getByLabel('Title'), 'the title has it');
      await page.keyboard.press('Tab');
      await has_focus(h, button(page, 'Save'), 'the button has it');
      const early = (await answer_text(page)).length;
      await h.eventually(async () => (await answer_text(page)).length > early + 20, 'it grows');
      await has_focus(h, button(page, 'Save'), 'the button has it still');
      await page.keyboard.press('Enter');
      await has_focus(h, button(page, 'Rename'), 'it is where it began');
      await button(page, 'Stop').click();
      await page.getByText('Stopped.').waitFor();
    },
  ],

  [
    'filters that were applied keep the keyboard',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/runs');
      await settled(page);
      await page.getByLabel('End user').fill('nobody');
      await page.keyboard.press('Enter');
      await h.eventually(() => page.url().includes('end_user=nobody'), 'the address says it');
      await settled(page);
      await has_focus(h, page.getByLabel('End user'), 'the filter has it');
      await h.t.open(page, '/runs');
      await h.eventually(
        async () => (await page.getByLabel('End user').inputValue()) === '',
        'an address without a filter has none',
      );
    },
  ],

  [
    'a fault of what has no field of its own is told below the form',
    async (h) => {
      h.t.allow(422);
      const user = await h.new_user();
      const page = await h.signed_in(user, '/webhooks');
      await button(page, 'New endpoint').click();
      await dialog(page).getByLabel('URL').fill('https://93.184.216.34/hook');
      await dialog(page).getByLabel('run.completed').uncheck();
      await dialog(page).getByLabel('run.failed').uncheck();
      await button(dialog(page), 'Add').click();
      await dialog(page).locator('.error li', { hasText: 'at least one event' }).waitFor();
    },
  ],

  [
    'a service that cannot be reached is told in the language of the user',
    async (h) => {
      h.t.allow_lost_connections();
      const user = await h.new_user();
      const page = await h.signed_in(user, '/account');
      await settled(page);
      await open_account_menu(page);
      await page.getByLabel('Language', { exact: true }).selectOption('zh');
      await page.route('**/v1/me/sessions*', (route) => route.abort());
      await h.t.open(page, '/sessions');
      await page.locator('.error', { hasText: '无法连接服务' }).waitFor();
    },
  ],

  [
    'where a server leads to no page of the web, nobody is led there',
    async (h) => {
      h.t.allow(403);
      const user = await h.new_user();
      const page = await h.signed_in(user, '/account');
      const answer = (status, body) => (route) =>
        route.fulfill({ status, contentType: 'application/json', body: JSON.stringify(body) });
      const forbidden = { code: 'auth.forbidden', title: 'No', status: 403 };
      await page.route('**/v1/mcp-servers/*?scope=org', answer(403, forbidden));
      await page.route('**/v1/mcp-servers/*:connect', answer(200, { url: 'javascript:alert(1)' }));
      await h.t.open(page, `/mcp-servers/${crypto.randomUUID()}`);
      await button(page, 'Connect').click();
      await page.locator('.toast', { hasText: 'is not a web page' }).waitFor();
    },
  ],

  [
    'who begins a thread goes on writing, and a question takes no keyboard from who writes',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/usage');
      await settled(page);
      await page.keyboard.press('g');
      await page.keyboard.press('t');
      await page.getByRole('heading', { name: 'Threads' }).waitFor();
      await page.keyboard.press('n');
      await has_focus(h, composer(page), 'a new thread is written');
      await page.keyboard.type('[delay 50] [words 80] [ask Where?] [ask When?] [say thanks]');
      await page.keyboard.press('Enter');
      await page.locator('.answer').first().waitFor();
      await has_focus(h, composer(page), 'the next message is written');
      await page.keyboard.type('meanwhile');
      const answer = page.getByRole('textbox', { name: 'The agent asks:' });
      await answer.waitFor();
      await page.keyboard.type(' and on');
      assert.equal(await composer(page).inputValue(), 'meanwhile and on');
      await composer(page).fill('');
      await answer.fill('Graz');
      await page.keyboard.press('Control+Enter');
      await page.locator('.wait').filter({ hasText: 'When?' }).waitFor();
      await has_focus(h, answer, 'the next question has it, since nobody writes');
      await page.keyboard.type('now');
      await page.keyboard.press('Control+Enter');
      await page.locator('.wait').waitFor({ state: 'detached' });
      await has_focus(h, page.locator('.pane'), 'what comes of the answer has it');
    },
  ],
]);
