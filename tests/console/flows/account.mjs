// The own account: profile, address, password, sessions, keys, organization, its end.
import {
  call,
  check,
  mail_with,
  make_account,
  must,
  pause,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';

const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();
const section = (page, name) =>
  page.locator('section.panel', { has: page.getByRole('heading', { name, exact: true }) });
const dialog = (page) => page.locator('dialog[open]');

// A key is made for the account in the open dialog; gives its text.
async function make_key(page, name) {
  await page.getByRole('button', { name: 'New key' }).click();
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByRole('button', { name: 'Create key' }).click();
}

export const flows = {
  'the profile': async (t) => {
    const { account, page } = await t.signed_in({}, '/account');
    const form = section(page, 'Profile');
    await form.getByLabel('Name').fill(`Ada of ${account.login}`);
    await form.getByLabel('Email language').selectOption('zh');
    await form.getByLabel('Time zone').fill('Europe/Rome');
    await form.getByRole('button', { name: 'Save' }).click();
    await toast(page, 'Saved');
    await page.locator('.account .who', { hasText: 'Ada of' }).waitFor({ state: 'attached' });
    const me = await must('GET', '/v1/me', undefined, { token: account.token });
    same([me.locale, me.timezone], ['zh', 'Europe/Rome'], 'profile');
  },

  'a new password, and the other sessions are over': async (t) => {
    t.allow(422);
    const { account, page } = await t.signed_in({}, '/account');
    const form = section(page, 'Password');
    await form.getByLabel('Current password').fill('wrong wrong');
    await form.getByLabel('New password').fill('a new horse battery');
    await form.getByRole('button', { name: 'Change password' }).click();
    await form.getByText('auth.wrong_password').waitFor({ state: 'attached' });
    await form.getByLabel('Current password').fill(account.password);
    await form.getByRole('button', { name: 'Change password' }).click();
    await toast(page, 'Password changed');
    same((await call('GET', '/v1/me', undefined, { token: account.token })).status, 401, 'other');
    await page.reload();
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
  },

  'a key whose answer was lost is made once, and a click beside hides nothing': async (t) => {
    t.allow_lost_connections();
    const { account, page } = await t.signed_in({}, '/keys');
    const beside = () => page.mouse.click(5, 800);
    await page.route('**/v1/api-keys', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Expires').selectOption('30');
    await dialog(page).getByLabel('Name').fill('kept');
    await beside();
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).locator('.error').waitFor();
    await page.unroute('**/v1/api-keys');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).locator('.secret').waitFor();
    await beside();
    await dialog(page).getByRole('button', { name: 'I have saved it' }).click();
    const keys = await must('GET', '/v1/api-keys', undefined, { token: account.token });
    same(keys.length, 1, 'keys');
  },

  'a new address': async (t) => {
    const { account, page } = await t.signed_in({}, '/account');
    const email = `next${account.email}`;
    const form = section(page, 'Email address');
    await form.getByLabel('New email address').fill(email);
    await form.getByLabel('Current password').fill(account.password);
    await form.getByRole('button', { name: 'Change email address' }).click();
    await toast(page, email);
    const [link] = await mail_with(email, /^https:\/\/\S+#\/verify\?token=\S+/m);
    await page.goto(link);
    // Who reads that it is done and goes on is not called back, however slow the service is.
    await page.route('**/v1/me', async (call) => {
      await pause(1000);
      await call.continue();
    });
    await page.getByRole('button', { name: 'Confirm' }).click();
    await toast(page, 'Email address confirmed');
    await t.open(page, '/account');
    await section(page, 'Email address').getByText(email).waitFor();
  },

  'sessions, and one of them is ended': async (t) => {
    const { account, page } = await t.signed_in();
    const { access_token } = await must('POST', '/v1/auth/login', account);
    await t.open(page, '/sessions');
    await settled(page);
    same(await page.locator('tbody tr').count(), 3, 'sessions');
    await page
      .locator('tbody tr')
      .filter({ hasNotText: 'this session' })
      .first()
      .getByRole('button', { name: /^End session: ./ })
      .click();
    await toast(page, 'Session ended');
    same(await page.locator('tbody tr').count(), 2, 'sessions left');
    same((await call('GET', '/v1/me', undefined, { token: access_token })).status, 401, 'ended');
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },

  'a list goes on with its next page': async (t) => {
    const account = await make_account();
    for (let made = 0; made < 54; ++made) {
      await must('POST', '/v1/api-keys', { name: `key ${made}` }, { token: account.token });
    }
    const page = await t.page({ height: 500 });
    await t.sign_in(page, account, '/keys');
    await settled(page);
    same(await page.locator('tbody tr').count(), 50, 'the first page');
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await until(async () => (await page.locator('tbody tr').count()) === 54, 'the second page');
    same(await page.getByRole('button', { name: 'Show more' }).count(), 0, 'buttons for more');
  },

  'a key is made, shown once, serves, and is revoked': async (t) => {
    const { page } = await t.signed_in({}, '/keys');
    await make_key(page, 'for the tests');
    const key = await page.locator('.secret').innerText();
    check(/^hst_[\w-]{43}$/.test(key), key);
    await dialog(page).getByRole('button', { name: 'I have saved it' }).click();
    check(!(await page.content()).includes(key), 'the key is still in the page');
    same((await call('GET', '/v1/me', undefined, { token: key })).status, 200, 'with the key');
    await page.getByRole('button', { name: 'Revoke: for the tests' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await page.locator('.mark', { hasText: 'revoked' }).waitFor();
    same((await call('GET', '/v1/me', undefined, { token: key })).status, 401, 'revoked');
  },

  'what needs a fresh login asks for it and goes on': async (t) => {
    t.allow(403, 422);
    const { account, page } = await t.signed_in({}, '/keys');
    // So long that what is done behind the proof still finds it fresh.
    await with_setting('auth.fresh_seconds', 3, async () => {
      await page.waitForTimeout(4500);
      await make_key(page, 'after a proof');
      await dialog(page).last().getByLabel('Password').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('auth.wrong_password').waitFor({ state: 'attached' });
      await dialog(page).last().getByLabel('Password').fill(account.password);
      await page.keyboard.press('Enter');
      await page.locator('.secret').waitFor();
    });
  },

  'a workspace: made, renamed, others invited, left': async (t) => {
    t.allow(409);
    const { account, page } = await t.signed_in({}, '/organization');
    const guest = await make_account();
    await page.getByRole('button', { name: 'New workspace' }).click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Research');
    same(await dialog(page).getByLabel('Short name').inputValue(), 'research', 'short name');
    await dialog(page).getByLabel('Short name').fill(`r-${account.login}`);
    await dialog(page).getByRole('button', { name: 'New workspace' }).click();
    await page.locator('h1', { hasText: 'Research' }).waitFor();
    await page
      .locator('section.panel')
      .getByLabel('Name', { exact: true })
      .fill('Research and more');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.locator('h1', { hasText: 'Research and more' }).waitFor();
    await page.getByRole('button', { name: 'Invite a member' }).click();
    await dialog(page).getByLabel('Email address').fill(guest.email);
    await dialog(page).getByRole('button', { name: 'Invite a member' }).click();
    const invitation = page.locator('tr', { hasText: guest.email });
    await invitation.waitFor();
    const copy = page.getByRole('button', { name: 'Copy link' });
    await copy.click();
    const link = () => page.evaluate(() => navigator.clipboard.readText());
    await until(async () => /#\/invitation\?token=inv_[\w-]+$/.test(await link()), 'a link');
    await invitation.getByRole('button').click();
    await invitation.waitFor({ state: 'detached' });
    same(await copy.count(), 0, 'ways to copy what is dead');
    await page.getByRole('button', { name: /^Leave/ }).click();
    await dialog(page).getByRole('button', { name: 'Leave' }).click();
    await page.locator('.toast').getByText('orgs.last_owner').waitFor({ state: 'attached' });
    await page.locator('select.org').selectOption({ label: `${account.login}'s workspace` });
    await page.locator('.mark', { hasText: 'personal' }).waitFor();
    await page.reload();
    await page.locator('.mark', { hasText: 'personal' }).waitFor();
  },

  'the invitation code': async (t) => {
    const { account, page } = await t.signed_in({}, '/account');
    const code = await section(page, 'Invitation code').locator('code').first().innerText();
    const mine = await must('GET', '/v1/me/invite-code', undefined, { token: account.token });
    same(code, mine.code, 'code');
    await page.getByRole('button', { name: 'Copy link' }).click();
    // It is copied behind the click.
    const link = await until(async () => {
      const text = await page.evaluate(() => navigator.clipboard.readText());
      return text.startsWith('https:') && text;
    }, 'a link');
    const other = await t.page();
    await other.goto(link);
    same(await other.getByLabel('Invitation code').inputValue(), code, 'code in the form');
  },

  'the account is deleted': async (t) => {
    t.allow(422);
    const { account, page } = await t.signed_in({}, '/account');
    const form = section(page, 'Delete account');
    await form.getByLabel('Current password').fill(account.password);
    await form.getByRole('button', { name: 'Delete account' }).click();
    const agree = dialog(page).getByRole('button', { name: 'Delete account' });
    check(await agree.isDisabled(), 'agreed without typing');
    await dialog(page).getByRole('textbox').fill(account.login);
    await agree.click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    same((await call('POST', '/v1/auth/login', account)).status, 401, 'login');
  },
};
