// Signing in with identity providers, in a stack of its own that trusts the provider of openid.mjs.
// Called by flows/sso.mjs with OPENID=folder of its certificate and STEPS=people or companies.
import {
  admin_token,
  check,
  Flow,
  must,
  open_account_menu,
  same,
  settled,
  start_browser,
  stop_browser,
  until,
  with_setting,
} from './harness.mjs';
import { start_openid } from './openid.mjs';
import {
  account_with_app,
  add_authenticator,
  give_password,
  named_site,
  proved_account,
  totp_code,
} from './second_factor.mjs';

const dialog = (page) => page.locator('dialog[open]').last();
const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();
const is_in = (page) => page.locator('nav').waitFor({ state: 'attached' });
const is_out = (page) => page.getByRole('heading', { name: 'Sign in' }).waitFor();
const by_acme = (page) => page.getByRole('button', { name: 'Sign in with Acme' });
const openid = await start_openid(process.env.OPENID);

const claims = (email, sub = email) => ({ claims: { sub, email, email_verified: true } });

async function sign_out(page) {
  await open_account_menu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await is_out(page);
}

// The owner of a workspace, to which the domain of the accounts is granted.
async function workspace() {
  const owner = await proved_account();
  const body = { name: 'Corp', slug: `corp-${owner.login}` };
  const { id } = await must('POST', '/v1/orgs', body, { token: owner.token });
  const grant = { org_id: id, domain: 'example.org' };
  await must('POST', '/v1/admin/org-domains', grant, { token: await admin_token() });
  return { owner, id };
}

const people = {
  'a stranger signs in with a provider of the platform': async (t) => {
    t.allow(401);
    const email = 'eve@acme.example';
    await openid.says('acme', claims(email));
    const page = await t.page({ width: 360, height: 740, scheme: 'dark' });
    await t.open(page, '/account');
    await by_acme(page).waitFor();
    await t.axe(page, 'sign-in with providers');
    await t.fits(page, 'sign-in with providers');
    await by_acme(page).click();
    const linked = page.locator('.identities li', { hasText: 'Acme' });
    await linked.waitFor();
    check(page.url().endsWith('#/account'), page.url());
    await t.axe(page, 'an account with a link');
    await t.fits(page, 'an account with a link');
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    check(!/hat_|hst_|hft_/.test(kept), `kept in the browser: ${kept}`);
    await page.reload();
    await linked.waitFor();
    await t.open(page, '/sessions');
    await page.locator('tbody tr', { hasText: 'acme' }).waitFor();
    await t.fits(page, 'sessions of a provider');
    await t.open(page, '/account');
    await linked.getByRole('button', { name: 'Remove link: Acme' }).click();
    await dialog(page).getByRole('button', { name: 'Remove link' }).click();
    // With the link ends the session that it began.
    await is_out(page);
  },

  'an account with the address is linked by one sign-in as usual': async (t) => {
    t.allow(401);
    const account = await proved_account();
    await openid.says('acme', claims(account.email));
    const page = await t.page();
    await t.open(page);
    await by_acme(page).click();
    await page.getByText('Your address already has an account here.').waitFor();
    await t.axe(page, 'a link to be made');
    await t.fits(page, 'a link to be made');
    await give_password(page, account);
    await toast(page, 'Your account is linked with acme.');
    await sign_out(page);
    await by_acme(page).click();
    await is_in(page);
    await open_account_menu(page);
    await page.getByText(account.email).waitFor();
  },

  'another account than that of the address is not linked': async (t) => {
    t.allow(401);
    const account = await proved_account();
    const other = await proved_account();
    await openid.says('acme', claims(account.email));
    const page = await t.page();
    await t.open(page);
    await by_acme(page).click();
    await page.getByText('Your address already has an account here.').waitFor();
    await give_password(page, other);
    await toast(page, 'Nothing was linked with acme');
    const { token } = other;
    same(await must('GET', '/v1/me/identities', undefined, { token }), [], 'links');
  },

  'the second factor is asked for after the provider': async (t) => {
    t.allow(401, 422);
    const account = await account_with_app();
    await openid.says('acme', claims(account.email));
    const page = await t.page();
    await t.open(page, '/keys');
    await by_acme(page).click();
    await page.getByText('Your address already has an account here.').waitFor();
    await give_password(page, account);
    await page.getByLabel('Code (six digits)').fill(totp_code(account.secret));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await sign_out(page);
    await by_acme(page).click();
    await page.getByRole('heading', { name: 'Two-step verification' }).waitFor();
    check(!/factor_token/.test(page.url()), page.url());
    await t.axe(page, 'the second step after a provider');
    await t.fits(page, 'the second step after a provider');
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(account.recovery_codes[0]);
    await page.keyboard.press('Enter');
    await is_in(page);
  },

  'a passkey is the second factor after the provider': async (t) => {
    t.allow(401);
    t.allow_origin(named_site);
    await with_setting('mail.site_url', named_site, async () => {
      const account = await proved_account();
      await openid.says('acme', claims(account.email));
      const page = await t.page();
      const device = await add_authenticator(page);
      const open = (path) => page.goto(`${named_site}/console/#${path}`);
      await open('/');
      await by_acme(page).click();
      await page.getByText('Your address already has an account here.').waitFor();
      await give_password(page, account);
      await is_in(page);
      await open('/factors');
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await dialog(page).getByLabel('Name').fill('laptop');
      await page.keyboard.press('Enter');
      await dialog(page).getByRole('button', { name: 'I have saved them' }).click();
      same(await device.count(), 1, 'passkeys of the device');
      await sign_out(page);
      await by_acme(page).click();
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await is_in(page);
    });
  },
};

const companies = {
  'an owner adds the company’s provider, and requires it': async (t) => {
    t.allow(401, 403, 422);
    const { owner, id } = await workspace();
    const options = { token: owner.token, headers: { 'X-Org-Id': id } };
    await openid.says('corp', claims(owner.email));
    const page = await t.page();
    await t.sign_in(page, owner, '/identity-providers');
    await page.locator('select.org').selectOption({ label: 'Corp' });
    await settled(page);
    await page.getByText('No identity providers yet').waitFor();
    await page.getByRole('button', { name: 'New provider' }).click();
    const form = dialog(page);
    await form.getByLabel('Name').fill('Corp & Co');
    await form.getByLabel('Key', { exact: true }).fill('corp');
    await form.getByText('/v1/auth/sso/callback/corp').waitFor();
    await form.getByLabel('Issuer').fill(`${openid.issuer('corp')}/none`);
    await form.getByLabel('Client ID').fill('client');
    await form.getByLabel('Client secret').fill('secret of corp');
    await form.getByLabel('Mail domains').fill('elsewhere.example');
    await form.getByLabel('Roles by group').fill('engineers = admin');
    await form.getByRole('button', { name: 'Add' }).click();
    await form.locator('.fault', { hasText: 'engineers = admin' }).waitFor();
    await form.getByLabel('Roles by group').fill('engineers: admin\nteam: a: member');
    await form.getByRole('button', { name: 'Add' }).click();
    await form.getByText('identity.discovery_failed').waitFor({ state: 'attached' });
    await form.getByLabel('Issuer').fill(openid.issuer('corp'));
    await form.getByRole('button', { name: 'Add' }).click();
    await form.getByText('identity.domain_not_granted').waitFor({ state: 'attached' });
    await form.getByLabel('Mail domains').fill('example.org');
    await t.fits(page, 'a new identity provider');
    await t.axe(page, 'a new identity provider');
    await form.getByRole('button', { name: 'Add' }).click();
    const panel = page.getByRole('region', { name: 'Corp & Co' });
    await panel.waitFor();
    check(!(await page.content()).includes('secret of corp'), 'the secret is in the page');
    const [made] = await must('GET', '/v1/identity-providers?scope=org', undefined, options);
    same(
      [made.key, made.domains, made.role_map, made.client_secret_set, made.is_required],
      ['corp', ['example.org'], { 'team: a': 'member', engineers: 'admin' }, true, false],
      'the provider',
    );
    await t.axe(page, 'identity providers');
    await t.fits(page, 'identity providers');

    await page.getByRole('button', { name: 'Edit: Corp & Co' }).click();
    await form.getByLabel('Require this provider').check();
    await form.getByText('shut out at once, also you').waitFor();
    await t.fits(page, 'a required provider');
    await form.getByRole('button', { name: 'Save' }).click();
    await dialog(page).getByLabel('Type “corp” to confirm').fill('corp');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    // The owner's own session began with a password.
    const onward = page.getByRole('link', { name: 'Sign in with corp' });
    await onward.first().waitFor();
    await t.fits(page, 'a refused session');
    await onward.first().click();
    await page.getByText('The organization requires').waitFor();
    await t.axe(page, 'the way to a required provider');
    await page.getByRole('button', { name: 'Continue' }).click();
    // The account has the address: it is linked first.
    await page.getByText('Your address already has an account here.').waitFor();
    await give_password(page, owner);
    await page.getByText('The organization requires').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await is_in(page);
    await until(async () => (await page.getByText('Corp').count()) > 0, 'the organization');
    await t.open(page, '/identity-providers');
    await page.getByRole('region', { name: 'Corp & Co' }).getByText('required').waitFor();
  },

  'a company account is found by the domain': async (t) => {
    t.allow(401, 404);
    const owner = await proved_account();
    await openid.says('corp', claims(owner.email));
    const page = await t.page();
    await t.open(page);
    await page.getByRole('button', { name: 'Sign in with your company account' }).click();
    await page.getByLabel('Email address at work').fill('ada@nowhere.example');
    await page.keyboard.press('Enter');
    await page.getByText('No company account for this address').waitFor();
    await t.fits(page, 'no company account');
    await page.getByLabel('Email address at work').fill(owner.email);
    await page.keyboard.press('Enter');
    await page.getByText('Your address already has an account here.').waitFor();
    await openid.says('corp', { answer: { status: 400, body: { error: 'invalid_grant' } } });
    await page.getByRole('button', { name: 'Sign in with your company account' }).click();
    await page.getByLabel('Email address at work').fill(owner.email);
    await page.keyboard.press('Enter');
    await page.getByText('You are not signed in').waitFor();
    await openid.says('corp', { answer: null });
  },
};

await start_browser();
const acme = {
  key: 'acme',
  display_name: 'Acme',
  issuer: openid.issuer('acme'),
  client_id: 'client',
  client_secret: 'secret of acme',
  create_users: true,
};
const token = await admin_token();
await must('POST', '/v1/identity-providers?scope=platform', acme, { token });
const steps = process.env.STEPS === 'people' ? people : companies;
for (const [name, work] of Object.entries(steps)) {
  const flow = new Flow();
  flow.allow_origin(openid.url);
  try {
    await work(flow);
  } catch (error) {
    flow.faults.unshift(error.stack);
    await flow.picture(`${process.env.CONSOLE_TOOLS}/sso ${name}.png`);
  }
  await flow.end();
  check(flow.faults.length === 0, `${name}: ${flow.faults.join('\n')}`);
}
await stop_browser();
openid.close();
process.exit(0);
