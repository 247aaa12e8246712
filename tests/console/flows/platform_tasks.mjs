// Tests what those do who run the platform, on a telephone's width and by keyboard alone: users,
// settings, health, the access log, mail, the gateway, what all organizations have.
import {
  admin_token,
  call,
  check,
  make_account,
  make_run,
  must,
  same,
  until,
} from '../harness.mjs';
import { audited, choose, dialog, phone, press, tab_to, type } from '../keyboard_steps.mjs';

// Until the screen is the platform's: what is pressed sooner is still the organization's.
async function press_platform(page) {
  await press(page, 'Platform');
  await page.locator('a[aria-current="page"]', { hasText: /^Platform$/ }).waitFor();
}

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const tag = () => Date.now().toString(36);

export const flows = {
  'dashboard: what the last days cost': async (t) => {
    await make_run((await make_account()).token, '[say hello]');
    const page = await phone(t, admin, '/platform');
    await press(page, 'Cost');
    await page.getByRole('button', { name: 'Cost', pressed: true }).waitFor();
    await page.locator('.plot canvas').waitFor();
    await t.fits(page, 'the dashboard');
  },

  'first steps: who may register': async (t) => {
    const page = await phone(t, admin, '/platform/start');
    await press(page, 'Save');
    await audited(page, 'settings.set');
    await t.fits(page, 'first steps');
    const path = '/v1/admin/settings/auth.registration_mode';
    await must('DELETE', path, undefined, { token: await admin_token() });
  },

  'first steps: a provider': async (t) => {
    const name = `Steps ${tag()}`;
    const page = await phone(t, admin, '/platform/start');
    await press(page, 'Add another provider');
    await page.getByLabel('API key').waitFor();
    await page.locator('main').focus();
    await type(page, 'Name', name);
    await type(page, 'URL', 'https://models.example/v1');
    await type(page, 'API key', 'sk-example-0123456789');
    await t.fits(page, 'the first provider');
    await press(page, 'Add provider');
    await audited(page, 'llm_providers.create');
    await page.locator('main > p', { hasText: name }).waitFor();
    const token = await admin_token();
    const all = '/v1/llm-providers';
    const listed = await must('GET', `${all}?scope=platform`, undefined, { token });
    const { id } = listed.find((one) => one.name === name);
    await must('DELETE', `${all}/${id}?scope=platform`, undefined, { token });
  },

  'users: one is found and opened, with all about them': async (t) => {
    const account = await make_account();
    const page = await phone(t, admin, '/platform/users');
    await type(page, 'Part of a login, name or email address', account.login);
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('tbody tr').count()) === 1, 'one row');
    await press(page, account.login);
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    for (const heading of ['Organizations', 'Changes to this user', 'Actions of this user']) {
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    }
    await type(page, 'Display name', `Ada ${account.login}`);
    await page.keyboard.press('Enter');
    await audited(page, 'users.update');
    await t.fits(page, 'user');
  },

  'users: one is suspended, and comes back': async (t) => {
    const { id, token } = await make_account();
    const page = await phone(t, admin, `/platform/users/${id}`);
    await press(page, 'Suspend');
    await dialog(page).getByText('ends all sessions').waitFor();
    await press(page, 'Suspend');
    await audited(page, 'users.suspend');
    same((await call('GET', '/v1/me', undefined, { token })).status, 401, 'their token');
    await t.fits(page, 'a user who is suspended');
    await press(page, 'Reactivate');
    await dialog(page).getByText('can sign in again').waitFor();
    await press(page, 'Reactivate');
    await audited(page, 'users.activate');
  },

  'users: one is deleted': async (t) => {
    const { id, login } = await make_account();
    const page = await phone(t, admin, `/platform/users/${id}`);
    await press(page, 'Delete user');
    await dialog(page).getByText('cannot be undone').waitFor();
    await page.keyboard.type(login);
    await t.fits(page, 'the question before a user goes');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
    await audited(page, 'users.delete');
    const token = await admin_token();
    const { status } = await must('GET', `/v1/admin/users/${id}`, undefined, { token });
    same(status, 'deleted', 'status');
  },

  'settings: one is changed, who did it, and taken back': async (t) => {
    const page = await phone(t, admin, '/platform/settings');
    await type(page, 'Search settings', 'limit.repair_turns');
    await press(page, 'Change: limit.repair_turns');
    await dialog(page).getByText('within a second').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('4');
    await page.keyboard.press('Enter');
    await audited(page, 'settings.set');
    const row = page.locator('tr', { hasText: 'limit.repair_turns' });
    await row.getByRole('link', { name: admin.login }).waitFor();
    await t.fits(page, 'settings');
    await press(page, 'Reset: limit.repair_turns');
    await press(page, 'Reset');
    await audited(page, 'settings.unset');
  },

  'settings: what is out of its bounds is refused beside its field': async (t) => {
    t.allow(422);
    const page = await phone(t, admin, '/platform/settings');
    await type(page, 'Search settings', 'limit.repair_turns');
    await page.locator('tr', { hasText: 'limit.repair_turns' }).getByText('0 to 10').waitFor();
    await press(page, 'Change: limit.repair_turns');
    await dialog(page).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('11');
    await page.keyboard.press('Enter');
    await dialog(page).locator('[aria-invalid]:focus').waitFor();
    await dialog(page).locator('.fault').waitFor();
    await t.fits(page, 'a setting that was refused');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  },

  'health: the doctor’s words, and what the clock does': async (t) => {
    const page = await phone(t, admin, '/platform/nodes');
    await tab_to(page, 'System checks');
    await page.locator('tr', { hasText: 'Postgres' }).getByText('ok').waitFor();
    await page.locator('tr', { hasText: 'auth_prune' }).waitFor();
    await t.fits(page, 'health');
  },

  'access log: filtered, and stopped': async (t) => {
    const page = await phone(t, admin, '/platform/access-log');
    await type(page, 'Path starts with', '/v1/admin/');
    await page.keyboard.press('Enter');
    await until(() => page.url().includes('path='), 'the address says it');
    await page.locator('tr', { hasText: '/v1/admin/access-log' }).first().waitFor();
    await page.locator('main').focus();
    await press(page, 'Live', 'Space');
    check(!(await page.getByLabel('Live').isChecked()), 'it goes on');
    await t.fits(page, 'the access log');
  },

  'access log: from a row to who it was': async (t) => {
    const { login, token } = await make_account();
    await must('GET', '/v1/me/feature-flags', undefined, { token });
    const page = await phone(t, admin, '/platform/access-log?path=/v1/me/feature-flags');
    await page.locator('tr', { hasText: login }).first().waitFor();
    await press(page, 'Live', 'Space');
    await press(page, login);
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    await page.locator('.facts', { hasText: login }).waitFor();
  },

  'mail: a test': async (t) => {
    t.allow(502, 503);
    const page = await phone(t, admin, '/platform/mail');
    await type(page, 'Email address', 'ada@example.org');
    await page.keyboard.press('Enter');
    await page.locator('.notice, .error').first().waitFor();
    await t.fits(page, 'mail');
  },

  'mail: a server that cannot be is refused, and mail goes on': async (t) => {
    t.allow(422);
    const mail_now = async () =>
      must('GET', '/v1/admin/email/config', undefined, { token: await admin_token() });
    const before = await mail_now();
    const page = await phone(t, admin, '/platform/mail');
    await type(page, 'Port', '0');
    await press(page, 'Change');
    await page.locator('main .fault, main .error').first().waitFor();
    await t.fits(page, 'a mail server that was refused');
    same(await mail_now(), before, 'mail');
  },

  'gateway: one’s own address behind a proxy': async (t) => {
    const page = await phone(t, admin, '/platform/gateway');
    await choose(page, 'How to determine the client’s IP address', 'proxy');
    await type(page, 'Trusted networks, one per line', '127.0.0.0/8');
    await press(page, 'Use it');
    await page.getByText('The client’s address is 203.0.113.9.').waitFor();
    await t.fits(page, 'the gateway');
  },

  'gateway: from which risk a request is refused': async (t) => {
    const path = '/v1/admin/gateway-config';
    const token = await admin_token();
    const before = await must('GET', path, undefined, { token });
    const page = await phone(t, admin, '/platform/gateway');
    await type(page, 'Risk score from which requests are refused', '0.95');
    await press(page, 'Change');
    await audited(page, 'gateway.config_set');
    await page.locator('.changed .is-new', { hasText: '0.95' }).waitFor();
    await t.fits(page, 'the gateway, changed');
    await must('PUT', path, before, { token });
  },

  'what the platform has for all: a model’s price': async (t) => {
    const token = await admin_token();
    const name = `Road ${tag()}`;
    const query = '?scope=platform';
    const body = { name, provider_kind: 'openai', base_url: 'https://models.example/v1' };
    const provider = await must('POST', `/v1/llm-providers${query}`, body, { token });
    const one = `/v1/llm-providers/${provider.id}`;
    const model = `model-${tag()}`;
    await must('POST', `${one}/models${query}`, { model }, { token });
    const page = await phone(t, admin, '/providers');
    await press_platform(page);
    await press(page, `Edit: ${model}`);
    await dialog(page).waitFor();
    await type(page, 'Output, $ per million tokens', '12.5');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_models.update');
    await t.fits(page, 'the platform’s models');
    const all = await must('GET', `/v1/llm-providers${query}`, undefined, { token });
    const changed = all.find((each) => each.id === provider.id).models[0];
    same(changed.output_usd_per_mtok, 12.5, 'price');
    await must('DELETE', one + query, undefined, { token });
  },

  'what the platform has for all: a persona': async (t) => {
    const key = `p${tag()}`;
    const page = await phone(t, admin, '/personas');
    await press_platform(page);
    await press(page, 'New persona');
    await page.getByLabel('Key').waitFor();
    await type(page, 'Key', key);
    await type(page, 'Name', 'Of all');
    await press(page, 'Add');
    await audited(page, 'personas.create');
    await t.fits(page, 'a persona of the platform');
    const { token } = await make_account();
    const query = '?scope=platform&limit=200';
    const seen = await must('GET', `/v1/personas${query}`, undefined, { token });
    check(seen.some((one) => one.persona_key === key), 'nobody else may use it');
    await press(page, 'Delete persona');
    await dialog(page).waitFor();
    await press(page, 'Delete persona');
    await audited(page, 'personas.delete');
  },

  'audit log of the platform: who changed a setting': async (t) => {
    const token = await admin_token();
    const path = '/v1/admin/settings/limit.repair_turns';
    await must('PUT', path, { value: 5 }, { token });
    await must('DELETE', path, undefined, { token });
    const page = await phone(t, admin, '/audit?scope=platform');
    await type(page, 'Target', 'limit.repair_turns');
    await page.keyboard.press('Enter');
    await page.locator('.audit .what', { hasText: 'settings.unset' }).first().waitFor();
    const actions = new Set(await page.locator('.audit .what').allInnerTexts());
    check([...actions].every((one) => one.startsWith('settings.')), [...actions].join());
    await t.fits(page, 'the audit log');
  },
};
