// The main task of each screen of the platform, on a telephone's width and by keyboard alone.
import { admin_token, check, make_account, make_run, must, same, until } from '../harness.mjs';
import { choose, phone, press, tab_to, type } from '../keyboard_steps.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const dialog = (page) => page.locator('dialog[open]');
const audited = (page, action) =>
  page
    .getByRole('status', { name: 'In the audit log' })
    .getByText(action, { exact: true })
    .waitFor();
const org_of = async ({ token }) => (await must('GET', '/v1/me', undefined, { token })).org_id;
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
    await press(page, 'Keep this');
    await audited(page, 'settings.set');
    await t.fits(page, 'first steps');
    const path = '/v1/admin/settings/auth.registration_mode';
    await must('DELETE', path, undefined, { token: await admin_token() });
  },

  'users: one is found and opened, with all about them': async (t) => {
    const account = await make_account();
    const page = await phone(t, admin, '/platform/users');
    await type(page, 'Part of login, name or mail address', account.login);
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('tbody tr').count()) === 1, 'one row');
    await press(page, account.login);
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    for (const heading of ['Organizations', 'What was done to this user', 'What this user did']) {
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    }
    await type(page, 'Name', `Ada ${account.login}`);
    await page.keyboard.press('Enter');
    await audited(page, 'users.update');
    await t.fits(page, 'a user');
  },

  'settings: one is changed, who did it, and taken back': async (t) => {
    const page = await phone(t, admin, '/platform/settings');
    await type(page, 'Find', 'limit.repair_turns');
    await press(page, 'Change: limit.repair_turns');
    await dialog(page).getByText('within a second').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('4');
    await page.keyboard.press('Enter');
    await audited(page, 'settings.set');
    const row = page.locator('tr', { hasText: 'limit.repair_turns' });
    await row.getByRole('link', { name: admin.login }).waitFor();
    await t.fits(page, 'settings');
    await press(page, 'Take back: limit.repair_turns');
    await press(page, 'Take back');
    await audited(page, 'settings.unset');
  },

  'credits: an organization is found by its member, and given some': async (t) => {
    const account = await make_account();
    const page = await phone(t, admin, '/platform/credits');
    await type(page, 'Organization (id)', account.login);
    await press(page, `${account.login}'s workspace`);
    await until(async () => page.url().includes(await org_of(account)), 'the address says which');
    await type(page, 'Amount', '250');
    await page.getByText('The balance goes from').waitFor();
    await press(page, 'Add or take credits');
    await audited(page, 'credits.adjust');
    await t.fits(page, 'credits');
  },

  'plans: one is made': async (t) => {
    const page = await phone(t, admin, '/platform/plans');
    const name = `road-${tag()}`;
    await type(page, 'Name', name);
    await type(page, 'Name that users see', `Plan ${name}`);
    await type(page, 'Entitlements, one a line', 'limit.personas = 9');
    await press(page, 'Make a plan');
    await audited(page, 'plans.create');
    await t.fits(page, 'plans');
  },

  'entitlements: a value is overridden': async (t) => {
    const org_id = await org_of(await make_account());
    const page = await phone(t, admin, `/platform/entitlements?org_id=${org_id}`);
    await type(page, 'Key', 'limit.personas');
    await type(page, 'Value', '5');
    await press(page, 'Override a value');
    await audited(page, 'entitlements.override_set');
    await page.locator('tr', { hasText: 'limit.personas' }).getByText('override').first().waitFor();
    await t.fits(page, 'entitlements');
  },

  'flags: one is made, and why it is off': async (t) => {
    const page = await phone(t, admin, '/platform/flags');
    const key = `road.f${tag()}`;
    await type(page, 'Flag', key);
    await press(page, 'Make a flag');
    await audited(page, 'feature_flags.create');
    await press(page, key);
    await press(page, 'Ask');
    await page.getByText('there is no override').waitFor();
    await t.fits(page, 'flags');
    await press(page, `Delete: ${key}`);
    await dialog(page).waitFor();
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await audited(page, 'feature_flags.delete');
  },

  'health: the doctor’s words, and what the clock does': async (t) => {
    const page = await phone(t, admin, '/platform/nodes');
    await tab_to(page, 'What the doctor says');
    await page.locator('tr', { hasText: 'Postgres' }).getByText('well').waitFor();
    await page.locator('tr', { hasText: 'auth_prune' }).waitFor();
    await t.fits(page, 'health');
  },

  'access log: filtered, and stopped': async (t) => {
    const page = await phone(t, admin, '/platform/access-log');
    await type(page, 'Path begins with', '/v1/admin/');
    await page.keyboard.press('Enter');
    await until(() => page.url().includes('path='), 'the address says it');
    await page.locator('tr', { hasText: '/v1/admin/access-log' }).first().waitFor();
    await page.locator('main').focus();
    await press(page, 'as it comes', 'Space');
    check(!(await page.getByLabel('as it comes').isChecked()), 'it goes on');
    await t.fits(page, 'the access log');
  },

  'mail: a test': async (t) => {
    t.allow(502, 503);
    const page = await phone(t, admin, '/platform/mail');
    await type(page, 'Mail address', 'ada@example.org');
    await page.keyboard.press('Enter');
    await page.locator('.notice, .error').first().waitFor();
    await t.fits(page, 'mail');
  },

  'gateway: one’s own address behind a proxy': async (t) => {
    const page = await phone(t, admin, '/platform/gateway');
    await choose(page, 'Whose word counts for the address of a client', 'proxy');
    await type(page, 'Networks that are believed, one a line', '127.0.0.0/8');
    await press(page, 'Ask for it');
    await page.getByText('The client is 203.0.113.9.').waitFor();
    await t.fits(page, 'the gateway');
  },

  'codes: one is made and turned off': async (t) => {
    const page = await phone(t, admin, '/platform/codes');
    await type(page, 'Value', '50');
    await press(page, 'Make redemption codes');
    await audited(page, 'redemption_codes.create');
    const code = await page.locator('.panel pre').innerText();
    await press(page, `Turn off: ${code}`);
    await audited(page, 'redemption_codes.update');
    await t.fits(page, 'codes');
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
    await press(page, 'Platform');
    await press(page, `Edit: ${model}`);
    await dialog(page).waitFor();
    await type(page, 'Output, $ a million tokens', '12.5');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_models.update');
    await t.fits(page, 'the platform’s models');
    const all = await must('GET', `/v1/llm-providers${query}`, undefined, { token });
    const changed = all.find((each) => each.id === provider.id).models[0];
    same(changed.output_usd_per_mtok, 12.5, 'price');
    await must('DELETE', one + query, undefined, { token });
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
