// The palette finds threads with the place of the text, runs by id, members, keys and personas; and
// each of them opens where it is.
import { check, make_account, make_run, must, same, settled } from '../harness.mjs';

const row = (page, kind) =>
  page.locator('.palette li', { has: page.locator('.mark', { hasText: kind }) });
const open = async (page, text) => {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /Screens, threads/ }).fill(text);
};

export const flows = {
  'threads are found with the text around the words, and open there': async (t) => {
    const { token, ...account } = await make_account();
    const thread = await must('POST', '/v1/threads', { title: 'Travel' }, { token });
    const path = `/v1/threads/${thread.id}/messages`;
    const say = (content) => must('POST', path, { content }, { token });
    await say('The parrot of the harbour office is called Zephyrine and it speaks.');
    for (let at = 0; at < 70; ++at) await say(`More words ${at}.\n\n${'line\n\n'.repeat(5)}`);
    const page = await t.page();
    await t.sign_in(page, account, '/usage');
    await settled(page);
    await open(page, 'zephyrine');
    const found = row(page, 'Thread');
    await found.locator('mark', { hasText: 'Zephyrine' }).waitFor();
    check((await found.innerText()).includes('harbour office'), await found.innerText());
    await t.axe(page, 'the palette with threads');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.hash.startsWith(`#/threads/${thread.id}?message=`));
    await page.locator('.pane .sought', { hasText: 'Zephyrine' }).waitFor();
    const is_seen = await page
      .getByText('is called Zephyrine')
      .evaluate((one) => one.getBoundingClientRect().top < innerHeight);
    check(is_seen, 'the place is out of sight');
  },

  'a run is found by its id and by a part of it': async (t) => {
    const { token, ...account } = await make_account();
    const run_id = await make_run(token, '[say hello]', { thread: { title: 'One' } });
    const page = await t.page();
    await t.sign_in(page, account, '/usage');
    await settled(page);
    for (const text of [run_id, run_id.slice(-12)]) {
      await open(page, text);
      await row(page, 'Run').filter({ hasText: run_id }).waitFor();
      await page.keyboard.press('Escape');
    }
    await open(page, run_id);
    await row(page, 'Run').click();
    await page.getByRole('heading', { name: run_id }).waitFor();
  },

  'members, keys and personas are found, and lead to their row': async (t) => {
    const { token, ...account } = await make_account();
    await must('POST', '/v1/api-keys', { name: 'Quarterly reports' }, { token });
    const persona = { persona_key: 'quarter', version: '3', display_name: 'Accountant' };
    const { id } = await must('POST', '/v1/personas?scope=org', persona, { token });
    const page = await t.page({ width: 360, height: 740 });
    await t.sign_in(page, account, '/usage');
    await settled(page);
    await open(page, 'quarter');
    await row(page, 'Persona').filter({ hasText: 'quarter@3' }).waitFor();
    await row(page, 'API key').filter({ hasText: 'Quarterly reports' }).waitFor();
    await t.fits(page, 'the palette');
    await row(page, 'API key').click();
    await page.locator('tr.sought', { hasText: 'Quarterly reports' }).waitFor();
    await open(page, 'accountant');
    await row(page, 'Persona').click();
    await page.waitForURL((url) => url.hash === `#/personas/${id}`);
    await open(page, account.email);
    await row(page, 'Member').click();
    await page.locator('tr.sought', { hasText: account.email }).waitFor();
  },

  'rows that come later take no choice away': async (t) => {
    const { token, ...account } = await make_account();
    await must('POST', '/v1/api-keys', { name: 'usage reports' }, { token });
    const page = await t.page();
    await t.sign_in(page, account, '/keys');
    await settled(page);
    await open(page, 'usage');
    const chosen = page.locator('.palette li[aria-selected="true"]');
    same((await chosen.innerText()).split('\n')[0], 'Usage', 'the first');
    await row(page, 'API key').waitFor();
    same((await chosen.innerText()).split('\n')[0], 'Usage', 'the first, later');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
  },
};
