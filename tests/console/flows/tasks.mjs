// The main task of each screen on a telephone's width and by keyboard alone: nothing is clicked.
import { make_account, make_run, must, same, settled, tab_to, until } from '../harness.mjs';

const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();
const dialog = (page) => page.locator('dialog[open]');

// A page at 360 px of a new account, at `path`; `prepare(account)` comes before.
async function at(t, path, prepare = async () => {}) {
  const account = await make_account();
  await prepare(account);
  const page = await t.page({ width: 360, height: 740 });
  await t.open(page, path);
  // The browser gives the focus to the first field only when it draws the page.
  await page.locator('input:focus').waitFor();
  await page.keyboard.type(account.login);
  await page.keyboard.press('Tab');
  await page.keyboard.type(account.password);
  await page.keyboard.press('Enter');
  await page.locator('nav').waitFor({ state: 'attached' });
  // The inbox follows what waits: its stream does not end.
  if (path !== '/inbox') await settled(page);
  return { account, page };
}

async function press(page, name, key = 'Enter') {
  await tab_to(page, name);
  await page.keyboard.press(key);
}

async function type(page, name, text) {
  await tab_to(page, name);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

// A run that waits, and its account's token.
async function waiting_run({ token }, content, run = {}) {
  const thread = await must('POST', '/v1/threads', { title: 'It waits' }, { token });
  await must('POST', `/v1/threads/${thread.id}/messages`, { content }, { token });
  const { run_id } = await must('POST', `/v1/threads/${thread.id}/runs`, run, { token });
  const run_of = () => must('GET', `/v1/runs/${run_id}`, undefined, { token });
  await until(async () => (await run_of()).status === 'waiting_for_input', 'it waits');
  return { run_id, run_of };
}
const ended = (run_of, status) =>
  until(async () => (await run_of()).status === status, `the run is ${status}`);

export const flows = {
  'threads: found, opened, written to, and an answer read': async (t) => {
    const { page } = await at(t, '/threads', async ({ token }) => {
      for (const title of ['Trip to Graz', 'Trip to Rome']) {
        await must('POST', '/v1/threads', { title }, { token });
      }
    });
    await type(page, 'Search threads', 'Rome');
    await until(async () => (await page.locator('.threads li').count()) === 1, 'one is found');
    await press(page, 'Trip to Rome');
    await page.getByRole('heading', { name: 'Trip to Rome' }).waitFor();
    await type(page, /^Message$/, '[say when in Rome]');
    await page.keyboard.press('Enter');
    await page.locator('.answer', { hasText: 'when in Rome' }).waitFor();
    await t.fits(page, 'a thread with an answer');
  },

  'inbox: a question is answered': async (t) => {
    let made;
    const { page } = await at(t, '/inbox', async (account) => {
      made = await waiting_run(account, '[ask Which one?] [say that one]');
    });
    await page.locator('.wait').waitFor();
    await t.fits(page, 'the inbox with a question');
    // What waits has the focus when it is drawn.
    await page.locator('.wait textarea:focus').waitFor();
    await page.keyboard.type('the second');
    await press(page, 'Answer');
    await ended(made.run_of, 'completed');
  },

  'inbox: a call is approved with other arguments': async (t) => {
    let made;
    const { page } = await at(t, '/inbox', async (account) => {
      const { token } = account;
      const persona = { persona_key: 'careful', version: '1', tools: ['web_search'] };
      const confirming = { ...persona, confirm_tools: ['web_search'] };
      await must('POST', '/v1/personas?scope=org', confirming, { token });
      const content = '[tool web_search {"query":"a"}] [say done]';
      made = await waiting_run(account, content, { persona_id: 'careful@1' });
    });
    await page.locator('.wait').waitFor();
    await t.fits(page, 'the inbox with an approval');
    await type(page, 'Arguments', '{"query":"b"}');
    await press(page, 'Approve with changes');
    await ended(made.run_of, 'completed');
  },

  'runs: filtered, one opened, its views, and stopped': async (t) => {
    let made;
    const { page } = await at(t, '/runs', async (account) => {
      await make_run(account.token, '[say a]');
      made = await waiting_run(account, '[ask Which one?]', { metadata: { ticket: '4711' } });
    });
    await type(page, 'Metadata key', 'ticket');
    await type(page, 'Metadata value', '4711');
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('main tbody tr').count()) === 1, 'one is left');
    await t.fits(page, 'runs');
    await page.locator('main tbody a').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.timeline').waitFor();
    for (const [name, shown] of [
      ['Events', '.events > li'],
      ['Replay', 'input[type=range]'],
      ['Timeline', '.timeline'],
    ]) {
      await press(page, name);
      await page.locator(shown).first().waitFor();
      await t.fits(page, name);
    }
    await press(page, 'Stop');
    await ended(made.run_of, 'cancelled');
  },

  'usage: another month, and the plot of what it cost': async (t) => {
    const { page } = await at(t, '/usage');
    await press(page, 'Cost');
    await page.getByRole('button', { name: 'Cost', pressed: true }).waitFor();
    await page.locator('main').focus();
    await press(page, 'Month', 'ArrowDown');
    await until(() => page.evaluate(() => location.hash.includes('month=')), 'the address says it');
    await settled(page);
    await t.fits(page, 'usage');
  },

  'credits: a code is redeemed, or said to be none': async (t) => {
    t.allow(404);
    const { page } = await at(t, '/credits');
    await type(page, 'Code', 'NOSUCHCODE');
    await page.keyboard.press('Enter');
    await page.getByText('redemption_codes.not_found').waitFor({ state: 'attached' });
    await t.fits(page, 'credits with a fault');
  },

  'keys: one is made and revoked': async (t) => {
    const { page } = await at(t, '/keys');
    await press(page, 'New key');
    await dialog(page).waitFor();
    await type(page, 'Name', 'on the road');
    await page.keyboard.press('Enter');
    await page.locator('.secret').waitFor();
    await t.fits(page, 'a new key');
    await press(page, 'I have saved it');
    await press(page, 'Revoke: on the road');
    await dialog(page).waitFor();
    await press(page, 'Revoke');
    await page.locator('.mark', { hasText: 'revoked' }).waitFor();
  },

  'sessions: another one is ended': async (t) => {
    const { page } = await at(t, '/sessions');
    same(await page.locator('tbody tr').count(), 2, 'sessions');
    const others = page.locator('tbody tr').filter({ hasNotText: 'this session' });
    const ends = others.getByRole('button');
    await until(async () => {
      await page.keyboard.press('Tab');
      return ends.evaluate((one) => one === document.activeElement);
    }, 'the focus on the other session');
    await page.keyboard.press('Enter');
    await toast(page, 'Session ended');
    await t.fits(page, 'sessions');
  },

  'organization: one is made, and somebody invited': async (t) => {
    const { account, page } = await at(t, '/organization');
    await press(page, 'New workspace');
    await dialog(page).waitFor();
    await type(page, 'Name', 'Research');
    await type(page, 'Short name', `r-${account.login}`);
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Research' }).waitFor();
    await press(page, 'Invite a member');
    await dialog(page).waitFor();
    await type(page, 'Email address', `guest${account.email}`);
    await page.keyboard.press('Enter');
    await page.locator('tr', { hasText: `guest${account.email}` }).waitFor();
    await t.fits(page, 'an organization');
  },

  'account: another name, another password': async (t) => {
    const { account, page } = await at(t, '/account');
    await type(page, 'Display name', 'Ada on the road');
    await page.keyboard.press('Enter');
    await toast(page, 'Saved');
    const form = page.getByRole('form', { name: 'Password' });
    await until(async () => {
      await page.keyboard.press('Tab');
      return form.evaluate((one) => one.contains(document.activeElement));
    }, 'the focus in the form of the password');
    await page.keyboard.type(account.password);
    await page.keyboard.press('Tab');
    await page.keyboard.type('a new horse battery');
    await page.keyboard.press('Enter');
    await toast(page, 'Password changed');
    await t.fits(page, 'the account');
    await must('POST', '/v1/auth/login', { ...account, password: 'a new horse battery' });
  },
};
