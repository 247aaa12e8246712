// Two-step verification: adding factors, signing in with them, recovery codes, requirements and
// resets.
import {
  admin_token,
  call,
  check,
  mail_with,
  must,
  open_account_menu,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';
import {
  account_with_app,
  add_authenticator,
  give_password,
  named_site,
  proved_account,
  totp_code,
} from '../second_factor.mjs';

const main = (page) => page.locator('main');
const dialog = (page) => page.locator('dialog[open]').last();
const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();
const is_in = (page) => page.locator('nav').waitFor({ state: 'attached' });
const row = (page, name) => page.locator('tbody tr', { hasText: name });
const second_step = (page) => page.getByRole('heading', { name: 'Two-step verification' });

async function sign_out(page) {
  await open_account_menu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

// Signs in with the password and the app's code of `steps` from now.
async function sign_in_with_app(t, page, account, path = '/', steps = 0) {
  await t.open(page, path);
  await give_password(page, account);
  await page.getByLabel('Code (six digits)').fill(totp_code(account.secret, steps));
  await page.keyboard.press('Enter');
  await is_in(page);
}

// The dialog of an app, from its name to the recovery codes, which it gives.
async function add_app(page, steps = 0) {
  await page.getByRole('button', { name: 'Add authenticator app' }).click();
  await dialog(page).getByLabel('Name').fill('my phone');
  await page.keyboard.press('Enter');
  await dialog(page).getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
  const secret = (await dialog(page).locator('.secret').innerText()).replaceAll(' ', '');
  await dialog(page).getByLabel('Code (six digits)').fill(totp_code(secret, steps));
  await page.keyboard.press('Enter');
  const list = dialog(page).locator('.codes li');
  await list.first().waitFor();
  return { secret, codes: await list.allInnerTexts() };
}

export const flows = {
  'an authenticator app is added, and signs in': async (t) => {
    t.allow(401, 422);
    const account = await proved_account();
    const page = await t.page();
    await t.sign_in(page, account);
    await open_account_menu(page);
    await page.getByRole('link', { name: 'Two-step verification' }).click();
    await page.getByText('Two-step verification is off').waitFor();
    const { secret, codes } = await add_app(page, -1);
    check(/^[A-Z2-7]{32}$/.test(secret), secret);
    same(codes.length, 10, 'recovery codes');
    await dialog(page).getByRole('button', { name: 'Copy all' }).click();
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await until(async () => (await copied()) === codes.join('\n'), 'the codes copied');
    const saving = page.waitForEvent('download');
    await dialog(page).getByRole('button', { name: 'Download' }).click();
    same((await saving).suggestedFilename(), 'hostler-recovery-codes.txt', 'file');
    await dialog(page).getByRole('button', { name: 'I have saved them' }).click();
    check(!(await page.content()).includes(codes[0]), 'a code is still in the page');
    await row(page, 'my phone').waitFor();
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    const curl = await dialog(page).innerText();
    check(/HOSTLER_CODE/.test(curl) && !curl.includes(secret), curl);
    await page.keyboard.press('Escape');
    await sign_out(page);

    await give_password(page, account);
    await second_step(page).waitFor();
    const code = page.getByLabel('Code (six digits)');
    await until(() => code.evaluate((one) => one === document.activeElement), 'the code');
    await code.fill(totp_code(secret, -1)); // it served once
    await page.keyboard.press('Enter');
    await main(page).getByText('Each code works once. Enter the newest code').waitFor();
    await code.fill(totp_code(secret).replace(/(...)/, ' $1 '));
    await page.keyboard.press('Enter');
    await is_in(page);
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    check(!/hft_|hat_/.test(kept), `kept in the browser: ${kept}`);
  },

  'a mailed code asks for the second step, too': async (t) => {
    t.allow(401);
    const account = await account_with_app();
    const page = await t.page();
    await t.open(page, '/forgot');
    await page.getByLabel('Email address').fill(account.email);
    await page.keyboard.press('Enter');
    const [, otp] = await mail_with(account.email, /^(\d{6})\s*$/m);
    await page.getByLabel('Code (six digits)').fill(otp);
    await page.keyboard.press('Enter');
    await second_step(page).waitFor();
    await page.getByLabel('Code (six digits)').fill(totp_code(account.secret));
    await page.keyboard.press('Enter');
    await page.getByLabel('New password').fill('another horse battery');
    await page.keyboard.press('Enter');
    await toast(page, 'Password changed');
  },

  'a recovery code signs in once, and new codes take the place of the old': async (t) => {
    t.allow(401, 403, 422);
    const account = await account_with_app();
    const page = await t.page();
    await t.open(page, '/factors');
    await give_password(page, account);
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill('nothing');
    await page.keyboard.press('Enter');
    await main(page).getByText('auth.factor_invalid').waitFor({ state: 'attached' });
    await page.getByLabel('Recovery code').fill(account.recovery_codes[0].toUpperCase());
    await page.keyboard.press('Enter');
    await is_in(page);
    await page.getByRole('button', { name: 'Create new codes' }).click();
    await dialog(page).getByRole('button', { name: 'Create new codes' }).click();
    const list = dialog(page).locator('.codes li');
    await list.first().waitFor();
    const codes = await list.allInnerTexts();
    check(!account.recovery_codes.includes(codes[0]), 'the old codes');
    await dialog(page).getByRole('button', { name: 'I have saved them' }).click();
    const login = await call('POST', '/v1/auth/login', account);
    const old = await call('POST', '/v1/auth/factor', {
      factor_token: login.body.factor_token,
      recovery_code: account.recovery_codes[1],
    });
    same(old.status, 422, 'an old code');
  },

  'too many wrong codes lead back to the password': async (t) => {
    t.allow(401, 422);
    const account = await account_with_app();
    const page = await t.page({ width: 360, height: 740 });
    await t.open(page);
    await give_password(page, account);
    const code = page.getByLabel('Code (six digits)');
    await t.axe(page, 'the second step');
    await t.fits(page, 'the second step');
    for (const wrong of ['000001', '000002', '000003', '000004', '000005', '000006']) {
      await code.fill(wrong);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await settled(page);
    }
    await main(page).getByText('The second step took too long or did not succeed').waitFor();
    await give_password(page, account);
    await code.fill(totp_code(account.secret));
    await page.keyboard.press('Enter');
    await is_in(page);
  },

  'a passkey is the second step, and signs in alone': async (t) => {
    t.allow(401, 403);
    t.allow_origin(named_site);
    await with_setting('mail.site_url', named_site, async () => {
      const account = await proved_account();
      const page = await t.page();
      const device = await add_authenticator(page);
      await page.goto(`${named_site}/console/#/factors`);
      await give_password(page, account);
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await dialog(page).getByLabel('Name').fill('laptop');
      await dialog(page).getByRole('button', { name: 'Add passkey' }).click();
      await dialog(page).getByRole('button', { name: 'I have saved them' }).click();
      await row(page, 'laptop').waitFor();
      same(await device.count(), 1, 'passkeys');
      // The same device has one already.
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await dialog(page).getByRole('button', { name: 'Add passkey' }).click();
      await dialog(page).getByText('This device already has a passkey').waitFor();
      await page.keyboard.press('Escape');
      await sign_out(page);
      await give_password(page, account);
      await t.fits(page, 'a passkey is asked for');
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await is_in(page);
      await sign_out(page);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await is_in(page);
      await sign_out(page);
      await device.refuse();
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await main(page).locator('.error').waitFor();
    });
  },

  'a fresh login by the factor, and it is removed': async (t) => {
    t.allow(401, 403, 422);
    const account = await account_with_app();
    const page = await t.page();
    await sign_in_with_app(t, page, account, '/factors');
    await with_setting('auth.fresh_seconds', 3, async () => {
      await page.waitForTimeout(4500);
      await page.getByRole('button', { name: 'Remove: phone' }).click();
      await dialog(page).getByText('is the last one').waitFor();
      await dialog(page).getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('heading', { name: 'Confirm your identity' }).waitFor();
      same(await dialog(page).getByLabel('Password').count(), 0, 'passwords asked for');
      await dialog(page).getByLabel('Code (six digits)').fill(totp_code(account.secret, 1));
      await page.keyboard.press('Enter');
      await page.getByText('Two-step verification is off').waitFor();
    });
    same((await call('POST', '/v1/auth/login', account)).status, 200, 'a login by password');
  },

  'the password of an account with a factor is changed by a proof with it': async (t) => {
    t.allow(401, 422);
    const account = await account_with_app();
    const page = await t.page();
    await sign_in_with_app(t, page, account, '/account');
    await page.getByText('on', { exact: true }).waitFor();
    const form = page.getByRole('form', { name: 'Password' });
    same(await form.getByLabel('Current password').count(), 0, 'passwords asked for');
    // The login was such a proof, until the answer says that it was too long ago.
    await page.route('**/v1/me/password', (route) =>
      route.fulfill({
        status: 422,
        contentType: 'application/problem+json',
        body: JSON.stringify({ code: 'auth.factor_required', status: 422, title: 'a factor' }),
      }),
    );
    await form.getByLabel('New password').fill('another horse battery');
    await form.getByRole('button', { name: 'Change password' }).click();
    await dialog(page).getByText('Confirm with your second step').waitFor();
    await page.unroute('**/v1/me/password');
    await dialog(page).getByLabel('Code (six digits)').fill(totp_code(account.secret, 1));
    await page.keyboard.press('Enter');
    await toast(page, 'Password changed');
  },

  'an organization requires it, and its member adds the first factor': async (t) => {
    t.allow(401, 403, 422);
    const owner = await account_with_app();
    const page = await t.page();
    await sign_in_with_app(t, page, owner, '/organization');
    await page.getByRole('button', { name: 'New workspace' }).click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Strict');
    await dialog(page).getByLabel('Short name').fill(`strict-${owner.login}`);
    await dialog(page).getByRole('button', { name: 'New workspace' }).click();
    await page.locator('h1', { hasText: 'Strict' }).waitFor();
    const org_id = await page.locator('select.org').inputValue();
    const member = await proved_account();
    const { token } = await must(
      'POST',
      `/v1/orgs/${org_id}/invitations`,
      { email: member.email, role: 'member' },
      {
        token: await page.evaluate(async () => {
          const answer = await fetch('/v1/auth/refresh', { method: 'POST' });
          return (await answer.json()).access_token;
        }),
      },
    );
    await must('POST', '/v1/org-invitations:accept', { token }, { token: member.token });

    const other = await t.page({ width: 360, height: 740 });
    await t.sign_in(other, member, '/usage');
    await other.locator('select.org').selectOption({ label: 'Strict' });
    await settled(other);
    await page.getByRole('button', { name: 'Require it' }).click();
    const agreed = dialog(page).getByRole('button', { name: 'Require it' });
    same(await dialog(page).getByText('You have not turned it on').count(), 0, 'warnings');
    await agreed.click();
    await page.getByText('required', { exact: true }).waitFor();

    // The next call in the organization is refused until there is a factor.
    await other.evaluate(() => (location.hash = '#/runs'));
    await other.getByRole('heading', { name: 'Turn on two-step verification' }).waitFor();
    await t.axe(other, 'a factor is required');
    await t.fits(other, 'a factor is required');
    await t.fits(page, 'an organization that requires a factor');
    await other.getByRole('button', { name: 'Go to your personal organization' }).click();
    await is_in(other);
    await other.locator('select.org').selectOption({ label: 'Strict' });
    await other.getByRole('button', { name: 'Add authenticator app' }).click();
    await dialog(other).getByRole('button', { name: 'Continue' }).click();
    await other.getByRole('button', { name: 'Email me a code' }).click();
    const [, otp] = await mail_with(member.email, /^(\d{6})\s*$/m);
    await dialog(other).getByLabel('Code (six digits)').fill(otp);
    await other.keyboard.press('Enter');
    await dialog(other).locator('.secret').waitFor();
    const secret = await dialog(other).locator('.secret').innerText();
    await dialog(other).getByLabel('Code (six digits)').fill(totp_code(secret));
    await other.keyboard.press('Enter');
    await dialog(other).getByRole('button', { name: 'I have saved them' }).click();
    await other.getByRole('heading', { name: 'Runs' }).waitFor();
    same(await other.locator('select.org').inputValue(), org_id, 'organization');
  },

  'an administrator resets the factors of a user': async (t) => {
    t.allow(401);
    const account = await account_with_app();
    const page = await t.page();
    const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
    await t.sign_in(page, admin, `/platform/users/${account.id}`);
    await page.getByRole('button', { name: 'Reset two-step verification' }).click();
    await dialog(page).getByRole('button', { name: 'Reset two-step verification' }).click();
    await toast(page, 'Two-step verification is reset');
    same((await call('POST', '/v1/auth/login', account)).status, 200, 'a login by password');
    const me = await must('GET', '/v1/me', undefined, { token: await admin_token() });
    await t.open(page, `/platform/users/${me.id}`);
    await page.locator('h1', { hasText: me.username }).waitFor();
    await settled(page);
    const button = page.getByRole('button', { name: 'Reset two-step verification' });
    same(await button.count(), 0, 'resets of an administrator');
  },

  'by keyboard on a telephone, in both languages': async (t) => {
    t.allow(401, 403);
    const account = await proved_account();
    const page = await t.page({ width: 360, height: 740, locale: 'zh-CN' });
    await t.open(page, '/factors');
    await page.locator('input:focus').waitFor();
    await t.fits(page, 'the sign-in page');
    await page.keyboard.type(account.login);
    await page.keyboard.press('Tab');
    await page.keyboard.type(account.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '两步验证' }).waitFor();
    await settled(page);
    await t.axe(page, 'no factor');
    await t.fits(page, 'no factor');
    await page.getByRole('button', { name: '添加身份验证器应用' }).focus();
    await page.keyboard.press('Enter');
    await dialog(page).locator('input:focus').waitFor();
    await page.keyboard.press('Enter');
    const secret_of = dialog(page).locator('.secret');
    await secret_of.waitFor();
    await dialog(page).locator('input:focus').waitFor();
    await t.axe(page, 'a QR code');
    await t.fits(page, 'a QR code');
    await page.keyboard.type(totp_code(await secret_of.innerText()));
    await page.keyboard.press('Enter');
    await dialog(page).locator('.codes li').first().waitFor();
    await t.axe(page, 'recovery codes');
    await t.fits(page, 'recovery codes');
    await dialog(page).getByRole('button', { name: '我已保存' }).focus();
    await page.keyboard.press('Enter');
    await row(page, '身份验证器应用').first().waitFor();
    await settled(page);
    await t.fits(page, 'an app');
  },
};
