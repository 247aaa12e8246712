// Signing in with identity providers: what they lead back to, their pages, and (sso.mjs, in a stack
// of its own) all of it with a provider that answers.
import { spawn } from 'node:child_process';
import { check, make_account, must, same, settled } from '../harness.mjs';
import { forget_certificate, make_certificate } from '../openid.mjs';
import { prove } from '../second_factor.mjs';

const dialog = (page) => page.locator('dialog[open]').last();
const row = (page, name) => page.locator('tbody tr', { hasText: name });
const is_in = (page) => page.locator('nav').waitFor({ state: 'attached' });
const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };

const own_stack = (environment) =>
  new Promise((resolve) => {
    const child = spawn('dev/stack/with-stack', [process.execPath, 'tests/console/sso.mjs'], {
      env: { ...process.env, ...environment },
    });
    let text = '';
    child.stdout.on('data', (piece) => (text += piece));
    child.stderr.on('data', (piece) => (text += piece));
    child.on('close', (status) => resolve({ status, text }));
  });

async function with_provider(steps) {
  const folder = make_certificate();
  try {
    const { status, text } = await own_stack({
      STEPS: steps,
      OPENID: folder,
      HOSTLER_OUTBOUND_CA_FILE: `${folder}/ca.pem`,
      HOSTLER_OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    });
    check(status === 0, text.slice(-3000));
  } finally {
    forget_certificate(folder);
  }
}

export const flows = {
  'what a provider leads back to says what happened, and one signs in below': async (t) => {
    const account = await make_account();
    const page = await t.page({ width: 360, height: 740 });
    await t.open(page, '/sign-in?error=auth.sso_unknown_user');
    await page.getByText('belongs to nobody here').waitFor();
    await t.axe(page, 'a failed sign-in by a provider');
    await t.fits(page, 'a failed sign-in by a provider');
    // Anybody may write such an address.
    await t.open(page, `/sign-in?error=${encodeURIComponent('<b>Call 555-0100</b>')}`);
    await page.reload();
    await page.getByText('You are not signed in').waitFor();
    same(await page.getByText('555-0100').count(), 0, 'words of the address');
    await page.getByLabel('Login or email address').fill(account.login);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.keyboard.press('Enter');
    await is_in(page);
    check(!/sign-in/.test(page.url()), page.url());
  },

  'a factor token stands in no address, and one that is over leads to the sign-in': async (t) => {
    t.allow(401);
    const page = await t.page();
    await t.open(page, `/sign-in?factor_token=hft_${'x'.repeat(43)}&factors=totp,passkey,other`);
    await page.getByLabel('Code (six digits)').fill('123456');
    check(!/factor_token/.test(page.url()), page.url());
    same(await page.getByRole('button', { name: 'Use a passkey' }).count(), 1, 'other ways');
    await page.keyboard.press('Enter');
    await page.getByText('auth.invalid_token').waitFor({ state: 'attached' });
    await page.getByLabel('Login or email address').waitFor();
  },

  'an operator grants a domain, and ends the grant': async (t) => {
    t.allow(409, 422);
    const owner = await make_account();
    await prove(owner.email);
    const body = { name: 'Domains', slug: `domains-${owner.login}` };
    const { id } = await must('POST', '/v1/orgs', body, { token: owner.token });
    const domain = `${owner.login}.example`;
    const page = await t.page();
    await t.sign_in(page, admin, '/identity-providers?scope=platform');
    await settled(page);
    const form = page.getByRole('form', { name: 'Grant domain' });
    await form.getByLabel('Organization ID').fill(id);
    await form.getByLabel('Mail domain').fill('no domain');
    await form.getByRole('button', { name: 'Grant domain' }).click();
    await form.locator('.field', { hasText: 'Mail domain' }).locator('.fault').waitFor();
    await form.getByLabel('Mail domain').fill(domain.toUpperCase());
    await form.getByRole('button', { name: 'Grant domain' }).click();
    await row(page, domain).waitFor();
    await page.getByRole('status', { name: 'Last change' }).getByText('Domain granted').waitFor();
    await t.axe(page, 'granted domains');
    await t.fits(page, 'granted domains');
    const marks = page.getByRole('form', { name: /What only you set/ });
    await marks.getByLabel('ID of the provider').fill(id);
    await marks.getByLabel('Addresses count as verified').selectOption('yes');
    t.allow(404);
    await marks.getByRole('button', { name: 'Save' }).click();
    await marks.getByText('identity_providers.not_found').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: `End grant: ${domain}` }).click();
    await dialog(page).getByRole('button', { name: 'End grant' }).click();
    await row(page, domain).waitFor({ state: 'detached' });
  },

  'owners see no lists of the platform': async (t) => {
    const { page } = await t.signed_in({}, '/identity-providers');
    await page.getByText('No identity providers yet').waitFor();
    same(await page.getByText('Granted mail domains').count(), 0, 'lists of the platform');
    await t.axe(page, 'no identity providers');
    await page.getByRole('button', { name: 'New provider' }).click();
    await t.fits(page, 'a new identity provider');
  },

  'people sign in with a provider of the platform: links, factors, passkeys': () =>
    with_provider('people'),

  'an owner adds a provider and requires it; it is found by the domain': () =>
    with_provider('companies'),
};
