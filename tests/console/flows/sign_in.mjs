// Ways in and out: password, mailed code, registration, forgotten password, mailed links, tabs.
import {
  call,
  check,
  mail_with,
  make_account,
  must,
  open_account_menu,
  password,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';

const main = (page) => page.locator('main');
const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();
const is_out = (page) => page.getByRole('heading', { name: 'Sign in' }).waitFor();
const is_in = (page) => page.locator('nav').waitFor({ state: 'attached' });

// The link that a mail to `email` has, which leads to this screen.
async function mailed_link(email, screen) {
  const [, link, token] = await mail_with(
    email,
    new RegExp(`^(https://\\S+/console/#/${screen}\\?token=([\\w-]+))\\s*$`, 'm'),
  );
  await mail_with(email, new RegExp(`^${token}\\s*$`, 'm'));
  return { link, token };
}

async function prove(email) {
  const { token } = await mailed_link(email, 'verify');
  await must('POST', '/v1/auth/email/verify/confirm', { token });
}

export const flows = {
  'a password, and the screen that was asked for opens': async (t) => {
    const account = await make_account();
    const page = await t.page();
    await t.sign_in(page, account, '/keys');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    check(!/hat_|hst_|correct/.test(kept), `kept in the browser: ${kept}`);
    const cookies = await page.context().cookies();
    same(
      cookies.map((one) => [one.name, one.path, one.httpOnly, one.secure]),
      [['hostler_refresh_token', '/v1/auth', true, true]],
      'cookies',
    );
  },

  'a wrong password shows code, words and trace id': async (t) => {
    t.allow(401);
    const account = await make_account();
    const page = await t.page();
    await t.open(page);
    await page.getByLabel('Login or email address').fill(account.login);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.keyboard.press('Enter');
    const error = page.locator('.error');
    await error.waitFor();
    const text = await error.textContent();
    check(/auth\.invalid_credentials/.test(text) && /[0-9a-f]{32}/.test(text), text);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.keyboard.press('Enter');
    await is_in(page);
  },

  'a mailed code': async (t) => {
    t.allow(422);
    const account = await make_account();
    const page = await t.page();
    await t.open(page);
    await page.getByRole('button', { name: 'Sign in with an emailed code' }).click();
    // A typing user is not interrupted.
    const email = page.getByLabel('Email address');
    await until(() => email.evaluate((one) => one === document.activeElement), 'the address');
    await email.fill(account.email);
    await page.keyboard.press('Enter');
    const [, code] = await mail_with(account.email, /^(\d{6})\s*$/m);
    const field = page.getByLabel('Code (six digits)');
    await until(() => field.evaluate((one) => one === document.activeElement), 'the code');
    await field.fill(code === '000000' ? '000001' : '000000');
    await page.keyboard.press('Enter');
    await main(page).getByText('auth.otp_invalid').waitFor({ state: 'attached' });
    await field.fill(` ${code.slice(0, 3)} ${code.slice(3)} `);
    await page.keyboard.press('Enter');
    await is_in(page);
  },

  'a registration, and faults beside their fields': async (t) => {
    t.allow(422);
    const page = await t.page();
    await t.open(page, '/register');
    const login = `reg${Date.now()}`;
    await page.getByLabel('Login').fill(login);
    await page.getByLabel('Email address').fill('no address');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.locator('.field', { hasText: 'Email address' }).locator('.fault').waitFor();
    await page.locator('.field', { hasText: 'Password' }).locator('.fault').waitFor();
    await page.getByLabel('Email address').fill(`${login}@example.org`);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await is_in(page);
    await page.getByText('Confirm your email address: open').waitFor();
    const { link } = await mailed_link(`${login}@example.org`, 'verify');
    const other = await t.page({ of: page });
    await other.goto(link);
    await other.getByRole('button', { name: 'Confirm' }).waitFor();
    check(!other.url().includes('token'), other.url());
    await other.getByRole('button', { name: 'Confirm' }).click();
    await toast(other, 'Email address confirmed');
    await page.reload();
    await is_in(page);
    await settled(page);
    same(await page.getByText('Confirm your email address: open').count(), 0, 'banners');
  },

  'registration by invitation, and none at all': async (t) => {
    const host = await make_account();
    const { code } = await must('GET', '/v1/me/invite-code', undefined, { token: host.token });
    await with_setting('auth.registration_mode', 'disabled', async () => {
      const page = await t.page();
      await t.open(page, '/register');
      await page.getByText('Registration is closed').waitFor();
      same(await page.locator('form').count(), 0, 'forms');
    });
    await with_setting('auth.registration_mode', 'invite_only', async () => {
      t.allow(422);
      const page = await t.page();
      await t.open(page, '/register');
      const login = `inv${Date.now()}`;
      await page.getByLabel('Login').fill(login);
      await page.getByLabel('Email address').fill(`${login}@example.org`);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Create account' }).click();
      await main(page).getByText('auth.invite_code_required').waitFor({ state: 'attached' });
      await page.getByLabel('Invitation code').fill(code);
      await page.getByRole('button', { name: 'Create account' }).click();
      await is_in(page);
    });
  },

  'a forgotten password': async (t) => {
    const account = await make_account();
    await prove(account.email);
    const page = await t.page();
    await t.open(page);
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('Email address').fill(account.email);
    await page.keyboard.press('Enter');
    const [, code] = await mail_with(account.email, /^(\d{6})\s*$/m);
    await page.getByLabel('Code (six digits)').fill(code);
    await page.keyboard.press('Enter');
    await page.getByLabel('New password').fill('another horse battery');
    await page.keyboard.press('Enter');
    await toast(page, 'Password changed');
    const again = await call('POST', '/v1/auth/login', {
      login: account.login,
      password: 'another horse battery',
    });
    same(again.status, 200, 'login with the new password');
  },

  'a changed address is taken back': async (t) => {
    const account = await make_account();
    await prove(account.email);
    const token = (await must('POST', '/v1/auth/login', account)).access_token;
    const email = `new${account.email}`;
    const change = { email, current_password: account.password };
    await must('POST', '/v1/me/email', change, { token });
    await prove(email);
    const { link } = await mailed_link(account.email, 'revert');
    const page = await t.page();
    await page.goto(link);
    await page.getByRole('button', { name: 'Recover account' }).click();
    await toast(page, 'Your previous email address is restored');
    await page.getByLabel('Email address').fill(account.email);
    await page.keyboard.press('Enter');
    const [, code] = await mail_with(account.email, /^(\d{6})\s*$/m);
    await page.getByLabel('Code (six digits)').fill(code);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Set password' }).waitFor();
  },

  'a link whose token is dead says so': async (t) => {
    t.allow(422);
    const page = await t.page();
    await page.goto(`${process.env.BASE_URL}/console/#/verify?token=nothing`);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await main(page).getByText('email.token_invalid').waitFor({ state: 'attached' });
  },

  'an invitation leads into its organization': async (t) => {
    const host = await make_account();
    const guest = await make_account();
    await prove(guest.email);
    const org = await must(
      'POST',
      '/v1/orgs',
      { slug: `team-${Date.now()}`, name: 'The <b>team</b>' },
      { token: host.token },
    );
    await must(
      'POST',
      `/v1/orgs/${org.id}/invitations`,
      { email: guest.email, role: 'member' },
      { token: host.token },
    );
    const { link } = await mailed_link(guest.email, 'invitation');
    const page = await t.page();
    await page.goto(link);
    await page.getByLabel('Login or email address').fill(guest.login);
    await page.getByLabel('Password', { exact: true }).fill(guest.password);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Accept' }).click();
    await toast(page, 'You are now a member of The <b>team</b>');
    same(await page.locator('select.org').inputValue(), org.id, 'organization');
  },

  'a reload and a second tab stay signed in, and signing out ends both': async (t) => {
    const { page } = await t.signed_in({}, '/account');
    await page.reload();
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
    const other = await t.page({ of: page });
    await t.open(other, '/sessions');
    await other.getByText('this session').waitFor();
    await open_account_menu(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await is_out(page);
    await is_out(other);
    await page.reload();
    await is_out(page);
  },

  'tabs whose token is over renew it one at a time, and none is signed out': async (t) => {
    t.allow(401);
    await with_setting('auth.access_token_seconds', 10, async () => {
      const { page } = await t.signed_in({}, '/credits');
      const tabs = [page];
      for (let more = 0; more < 3; ++more) {
        const tab = await t.page({ of: page });
        await t.open(tab, '/credits');
        await settled(tab);
        tabs.push(tab);
      }
      t.calls = [];
      const begin = Date.now();
      await page.waitForTimeout(10_500);
      const look = (tab) => tab.evaluate(() => (location.hash = '#/sessions'));
      await Promise.all(tabs.map(look));
      for (const tab of tabs) await tab.getByText('this session').waitFor();
      const renewals = t.calls.filter((one) => one.path === '/v1/auth/refresh').length;
      // Texts of all four together; each on its own would make four of each.
      const most = Math.floor((Date.now() - begin) / 10_000) + 1;
      check(renewals >= 1 && renewals <= most, `${renewals} renewals, not 1 to ${most}`);
    });
  },

  'a session that was ended elsewhere asks to sign in again': async (t) => {
    t.allow(401);
    const { account, page } = await t.signed_in({}, '/credits');
    const token = (await must('POST', '/v1/auth/login', account)).access_token;
    await must('POST', '/v1/auth/logout?all=true', undefined, { token });
    await open_account_menu(page);
    await page.getByRole('link', { name: 'Sessions' }).click();
    await is_out(page);
    await until(async () => (await page.locator('nav').count()) === 0, 'no navigation');
  },
};
