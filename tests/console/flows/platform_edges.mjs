// Where the platform's screens may do too little or too much: a log that shows nothing yet, money
// that is given once more after an error, numbers that are none, days of another clock.
import { admin_token, call, check, make_account, must, same, settled, until } from '../harness.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const dialog = (page) => page.locator('dialog[open]');
const section = (page, name) =>
  page.locator('section.panel', { has: page.getByRole('heading', { name, exact: true }) });

async function as_admin(t, path, options = {}) {
  const page = await t.page(options);
  await t.sign_in(page, admin, path);
  await settled(page);
  return page;
}

export const flows = {
  'an access log that shows nothing yet shows what comes': async (t) => {
    const { token } = await make_account();
    const path = `/v1/runs/${crypto.randomUUID()}`;
    const page = await as_admin(t, `/platform/access-log?path=${path}`);
    await page.getByText('Nothing here yet.').waitFor();
    same((await call('GET', path, undefined, { token })).status, 404, 'a run that is not there');
    await page.locator('tbody tr', { hasText: path }).waitFor({ timeout: 20_000 });
  },

  'a change of all credits that is tried again after an error is the same change': async (t) => {
    t.allow(500);
    const page = await as_admin(t, '/platform/credits');
    const keys = [];
    await page.route('**/v1/admin/credits/bulk-adjust', (route) => {
      const request = route.request();
      if (request.postDataJSON().dry_run) return route.continue();
      keys.push(request.headers()['idempotency-key']);
      // Nobody's credits change in this flow.
      const [status, answer] = keys.length === 1 ? [500, {}] : [200, { affected: 1, total: 7 }];
      const body = JSON.stringify(answer);
      return route.fulfill({ status, contentType: 'application/json', body });
    });
    const all = section(page, 'All organizations');
    const change = async () => {
      await all.getByRole('button', { name: 'Adjust all' }).click();
      await dialog(page).getByRole('button', { name: 'Adjust all' }).click();
    };
    await all.getByLabel('Amount').fill('7');
    await change();
    await page.locator('.toast.error', { hasText: 'HTTP 500' }).waitFor();
    await change();
    await page.locator('.toast', { hasText: '1 organization was changed.' }).waitFor();
    await change();
    await until(() => keys.length === 3, 'a third change');
    check(keys[0] && keys[0] === keys[1], `another key: ${keys}`);
    check(keys[2] !== keys[1], `what was done has its key still: ${keys}`);
  },

  'a stored mail password stays, or is removed': async (t) => {
    const page = await as_admin(t, '/platform');
    const config = {
      from: 'hostler@example.org',
      smtp_host: 'mail.example.org',
      smtp_port: 587,
      smtp_user: 'hostler',
      smtp_pass_set: true,
      smtp_tls_mode: 'starttls',
    };
    const sent = [];
    await page.route('**/v1/admin/email/config', async (route) => {
      const is_read = route.request().method() === 'GET';
      if (!is_read) sent.push(route.request().postDataJSON());
      const body = is_read ? JSON.stringify(config) : undefined;
      await route.fulfill({ status: is_read ? 200 : 204, contentType: 'application/json', body });
    });
    await t.open(page, '/platform/mail');
    const change = async () => {
      const { length } = sent;
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await until(() => sent.length > length, 'a change');
    };
    await change();
    await page.getByLabel('Delete the password').check();
    await change();
    same(
      sent.map(({ smtp_pass }) => smtp_pass),
      [undefined, ''],
      'passwords',
    );
    check(!('forgets' in sent[1]), 'what is no member is sent');
  },

  'what is no number is refused beside its field': async (t) => {
    t.allow(422);
    const page = await as_admin(t, '/platform/codes');
    const make = section(page, 'Create redemption codes');
    await make.getByLabel('Number of codes').fill('ten');
    await make.getByLabel('Value').fill('50');
    await make.getByRole('button', { name: 'Create redemption codes' }).click();
    const field = make.locator('.field', { has: page.getByLabel('Number of codes') });
    await field.locator('.fault').waitFor();
  },

  'a day that was typed west of Greenwich is that day there': async (t) => {
    const { token } = await make_account();
    const { org_id } = await must('GET', '/v1/me', undefined, { token });
    const where = `/platform/entitlements?org_id=${org_id}`;
    const page = await as_admin(t, where, { timezone: 'America/New_York' });
    const override = section(page, 'Override a value');
    await override.getByLabel('Key').fill('limit.api_keys');
    await override.getByRole('textbox', { name: 'Value' }).fill('4');
    await override.getByLabel('End').fill('2031-01-01');
    await override.getByRole('button').click();
    const rows = page.getByRole('region', { name: 'Overrides', exact: true });
    await rows.locator('tr', { hasText: 'limit.api_keys' }).getByText('1 Jan 2031').waitFor();
    const path = `/v1/entitlement-overrides?org_id=${org_id}`;
    const [made] = await must('GET', path, undefined, { token: await admin_token() });
    same(new Date(made.expires_at).toISOString(), '2031-01-01T05:00:00.000Z', 'its moment');
  },

  'the key for a new persona makes one of what is shown': async (t) => {
    const page = await as_admin(t, '/personas');
    await page.locator('main .choices a', { hasText: 'Platform' }).click();
    await page.locator('main .choices [aria-current=page]', { hasText: 'Platform' }).waitFor();
    await settled(page);
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'New persona' }).waitFor();
    check(page.url().includes('scope=platform'), page.url());
  },
};
