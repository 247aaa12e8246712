// Tests what overtakes something else, is done twice, or by somebody else than began it: nothing of
// one organization or user stands where another is, and nothing that was typed is lost.
import assert from 'node:assert/strict';

import { composer, new_thread, send, staged } from '../chat_steps.mjs';
import { must, password, pause, settled } from '../harness.mjs';

// A workspace of the user, of that name.
const workspace = ({ login, token }, name) =>
  must('POST', '/v1/orgs', { slug: `${name}-${login}`, name }, { token });

// A run that waits for its user.
async function waiting_run(h, { token }, content) {
  const thread = await must('POST', '/v1/threads', {}, { token });
  await must('POST', `/v1/threads/${thread.id}/messages`, { content }, { token });
  const { run_id } = await must('POST', `/v1/threads/${thread.id}/runs`, {}, { token });
  await h.eventually(async () => {
    const { status } = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
    return status === 'waiting_for_input';
  }, 'the run waits');
  return run_id;
}

const org_of = (request) => request.headers()['x-org-id'];

export const flows = staged([
  [
    'of two organizations chosen in a row the second is open, whichever answers first',
    async (h) => {
      const user = await h.new_user();
      const slow = await workspace(user, 'slow');
      const quick = await workspace(user, 'quick');
      const page = await h.signed_in(user, '/organization');
      await settled(page);
      await page.route('**/v1/me', async (route) => {
        if (org_of(route.request()) === slow.id) await pause(1500);
        await route.continue();
      });
      const late = page.waitForResponse(
        (answer) => answer.url().endsWith('/v1/me') && org_of(answer.request()) === slow.id,
      );
      await page.locator('select.org').selectOption(slow.id);
      await page.locator('select.org').selectOption(quick.id);
      await page.locator('h1', { hasText: 'quick' }).waitFor();
      await (await late).finished();
      await settled(page);
      assert.equal(await page.locator('h1').innerText(), 'quick');
      assert.equal(await page.locator('select.org').inputValue(), quick.id);
    },
  ],

  [
    'what waits in an organization is known soon after one goes there',
    async (h) => {
      const user = await h.new_user();
      const { org_id } = await must('GET', '/v1/me', undefined, { token: user.token });
      await waiting_run(h, user, '[ask Which one?]');
      const other = await workspace(user, 'other');
      const page = await h.signed_in(user, '/account');
      const count = page.locator('nav .count', { hasText: '1' });
      await count.waitFor();
      let answer;
      const held = new Promise((resolve) => (answer = resolve));
      await page.route('**/v1/runs?status=waiting_for_input*', async (route) => {
        if (org_of(route.request()) === other.id) await held;
        await route.continue();
      });
      const choice = page.locator('select.org');
      await choice.selectOption(other.id);
      await count.waitFor({ state: 'detached' });
      await choice.selectOption(org_id);
      await h.eventually(async () => (await choice.inputValue()) === org_id, 'one is back');
      answer();
      await count.waitFor({ timeout: 8000 });
    },
  ],

  [
    'of two who edit the same, each saves what they changed alone',
    async (h) => {
      const user = await h.new_user();
      const options = { token: user.token };
      const text = { system_prompt: 'old', description: 'old' };
      const persona = { persona_key: 'both', version: '1', ...text };
      const made = await must('POST', '/v1/personas?scope=org', persona, options);
      const hook = { url: 'https://93.184.216.34/hook', events: ['run.completed', 'run.failed'] };
      const endpoint = await must('POST', '/v1/webhook-endpoints', hook, options);
      const page = await h.signed_in(user, `/personas/${made.id}`);
      await page.getByLabel('Description').fill('new');
      const other = await h.second_tab(page, `/webhooks/${endpoint.id}`);
      await other.getByLabel('run.failed').uncheck();
      const path = `/v1/personas/${made.id}?scope=org`;
      await must('PATCH', path, { system_prompt: 'theirs' }, options);
      const of_hook = `/v1/webhook-endpoints/${endpoint.id}`;
      await must('PATCH', of_hook, { enabled: false }, options);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await other.getByRole('button', { name: 'Save', exact: true }).click();
      for (const tab of [page, other]) await tab.locator('.toast', { hasText: 'Saved' }).waitFor();
      const [saved] = (await must('GET', '/v1/personas?scope=org', undefined, options)).filter(
        ({ id }) => id === made.id,
      );
      assert.deepEqual([saved.system_prompt, saved.description], ['theirs', 'new']);
      const { events, enabled } = await must('GET', of_hook, undefined, options);
      assert.deepEqual([events, enabled], [['run.completed'], false]);
    },
  ],

  [
    'a message without a run is answered, and the answer before it stays',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      const path = `/v1/threads/${thread_id}/messages`;
      const answer = page.getByRole('button', { name: 'Get an answer' });
      for (const words of ['one', 'two']) {
        await h.call('POST', path, { content: `[say ${words}]` }, user.token);
        await page.reload();
        await answer.click();
        await page.locator('.answer').filter({ hasText: words }).waitFor();
        await answer.waitFor({ state: 'detached' });
      }
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      const messages = await h.call('GET', path, undefined, user.token);
      assert.deepEqual(
        messages.map(({ content }) => content),
        ['[say one]', 'one', '[say two]', 'two'],
      );
    },
  ],

  [
    'who signs in where somebody else wrote finds nothing of it',
    async (h) => {
      const page = await h.signed_in(await h.new_user(), '/threads/new');
      await composer(page).fill('what nobody else is to read');
      await h.t.open(page, '/register');
      const login = `next${Date.now()}`;
      await page.getByLabel('Login').fill(login);
      await page.getByLabel('Email address').fill(`${login}@example.org`);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.locator('.account .who', { hasText: login }).waitFor({ state: 'attached' });
      await h.t.open(page, '/threads/new');
      await composer(page).waitFor();
      assert.equal(await composer(page).inputValue(), '');
    },
  ],

  [
    'a message that was not sent is there again for who comes back to its thread',
    async (h) => {
      h.t.allow_lost_connections();
      const user = await h.new_user();
      const thread = await h.call('POST', '/v1/threads', {}, user.token);
      const page = await h.signed_in(user, `/threads/${thread.id}`);
      await page.route('**/messages', (route) =>
        route.request().method() === 'POST' ? route.abort() : route.continue(),
      );
      await send(page, 'precious');
      await page.locator('.unsent .error').waitFor();
      await page.getByRole('link', { name: 'Inbox' }).click();
      await page.getByRole('heading', { name: 'Inbox' }).waitFor();
      await page.goBack();
      await composer(page).waitFor();
      assert.equal(await composer(page).inputValue(), 'precious');
    },
  ],

  [
    'a thread that cannot be read is asked for again',
    async (h) => {
      h.t.allow(429);
      const user = await h.new_user();
      const thread = await h.call('POST', '/v1/threads', { title: 'away' }, user.token);
      const page = await h.signed_in(user, '/inbox');
      const body = JSON.stringify({ code: 'rate_limit.exceeded', title: 'Slower', status: 429 });
      await page.route(`**/v1/threads/${thread.id}`, (route) =>
        route.fulfill({ status: 429, headers: { 'retry-after': '30' }, body }),
      );
      await h.t.open(page, `/threads/${thread.id}`);
      const again = page.locator('.chat').getByRole('button', { name: 'Try again' });
      await again.waitFor();
      await page.unroute(`**/v1/threads/${thread.id}`);
      await again.click();
      await page.getByRole('heading', { name: 'away' }).waitFor();
    },
  ],

  [
    'a message that is not taken comes back, each time, with what was typed since',
    async (h) => {
      h.t.allow(500);
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await page.route('**/messages', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 500, contentType: 'application/json', body: '{}' })
          : route.continue(),
      );
      const give_up = page.locator('.unsent').getByRole('button', { name: 'Cancel' });
      const has = (text) =>
        h.eventually(async () => (await composer(page).inputValue()) === text, `it has ${text}`);
      for (const since of ['', '', 'and this']) {
        await send(page, 'not to be lost');
        await give_up.waitFor();
        await composer(page).fill(since);
        await give_up.click();
        await has(since ? `not to be lost\n${since}` : 'not to be lost');
      }
    },
  ],

  [
    'a queued run that cannot be stopped says why',
    async (h) => {
      h.t.allow(500);
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, '[ask Really?]');
      await page.locator('.wait').waitFor();
      await send(page, '[say behind it]');
      const queued = page.locator('.note', { hasText: 'Queued until the previous run ends.' });
      await queued.waitFor();
      await page.route('**/runs/*:cancel', (route) =>
        route.fulfill({ status: 500, contentType: 'application/json', body: '{}' }),
      );
      await queued.getByRole('button', { name: 'Stop' }).click();
      await page.locator('article.run .error', { hasText: 'HTTP 500' }).waitFor();
    },
  ],

  [
    'a run that has ended is not called queued while the thread is read',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, '[delay 20] [words 60] [say the end]');
      await page.locator('.answer').first().waitFor();
      await page.evaluate(() => {
        const pane = document.querySelector('.pane');
        globalThis.seen = false;
        const look = () => (globalThis.seen ||= pane.textContent.includes('Queued until'));
        new MutationObserver(look).observe(pane, { childList: true, subtree: true });
      });
      await page.route('**/v1/threads/*', async (route) => {
        await pause(500);
        await route.continue();
      });
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      assert.equal(await page.evaluate(() => globalThis.seen), false);
    },
  ],

  [
    'a persona that was just made may be chosen in a thread',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await settled(page);
      await h.t.open(page, '/personas/new');
      await page.getByLabel('Key').fill('fresh');
      await page.getByLabel('Name').fill('Fresh');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByText('fresh@1').first().waitFor();
      await settled(page);
      await h.t.open(page, `/threads/${thread_id}`);
      await page.getByLabel('Persona').selectOption('fresh@1');
    },
  ],

  [
    'a wait that was chosen and answered makes room for the oldest',
    async (h) => {
      const user = await h.new_user();
      await waiting_run(h, user, '[ask The oldest?]');
      await waiting_run(h, user, '[ask The other one?] [say well]');
      const page = await h.signed_in(user, '/inbox');
      await page.locator('.wait', { hasText: 'The oldest?' }).waitFor();
      await page.locator('.inbox-head', { hasText: 'The other one?' }).click();
      await page.locator('.wait', { hasText: 'The other one?' }).locator('textarea').fill('yes');
      await page.getByRole('button', { name: 'Answer', exact: true }).click();
      await page.locator('.wait', { hasText: 'The oldest?' }).waitFor();
    },
  ],
]);
