// Tests what those who run the platform do: each screen's main task, by mouse, by keyboard, at 360
// px.
import {
  admin_token,
  call,
  check,
  make_account,
  make_run,
  must,
  same,
  settled,
  until,
} from '../harness.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const dialog = (page) => page.locator('dialog[open]');
const section = (page, name) =>
  page.locator('section.panel', { has: page.getByRole('heading', { name, exact: true }) });
const recorded = (page, action) =>
  page
    .getByRole('status', { name: 'Last change' })
    .getByText(action, { exact: true })
    .waitFor({ state: 'attached' });
export const platform_paths = [
  '/platform',
  '/platform/start',
  '/platform/users',
  '/platform/settings',
  '/platform/credits',
  '/platform/plans',
  '/platform/entitlements',
  '/platform/flags',
  '/platform/nodes',
  '/platform/access-log',
  '/platform/mail',
  '/platform/gateway',
  '/platform/codes',
];

async function as_admin(t, path, options = {}) {
  const page = await t.page(options);
  await t.sign_in(page, admin, path);
  await settled(page);
  return page;
}

// The personal organization of a new account.
async function org_of(account) {
  return (await must('GET', '/v1/me', undefined, { token: account.token })).org_id;
}

async function tab_to(page, name) {
  for (let presses = 0; presses < 120; ++presses) {
    await page.keyboard.press('Tab');
    const found = await page.evaluate(() => {
      const one = document.activeElement;
      return one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent;
    });
    if (found.trim().startsWith(name)) return;
  }
  throw new Error(`Tab never comes to ${name}`);
}

export const flows = {
  'only administrators are offered the platform': async (t) => {
    const { page } = await t.signed_in();
    same(await page.locator('nav a[href^="#/platform"]').count(), 0, 'entries for a user');
    await t.open(page, '/platform/users');
    await page.getByText('does not give access to this page').waitFor();
    const other = await as_admin(t, '/');
    same(await other.locator('nav a[href^="#/platform"]').count(), 13, 'entries');
  },

  // In the light, and with names that nobody would choose: admin.mjs.
  'every screen at 360 pixels, and what readers of it find in the dark': async (t) => {
    const page = await as_admin(t, '/platform', { width: 360, height: 740, scheme: 'dark' });
    for (const path of platform_paths) {
      await t.open(page, path);
      await settled(page);
      await t.fits(page, path);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
    for (const path of platform_paths) {
      await t.open(page, path);
      await settled(page);
      await t.axe(page, `${path} dark`);
    }
  },

  'first steps: a provider, a model, registration': async (t) => {
    const page = await as_admin(t, '/platform/start');
    const name = `Steps ${Date.now()}`;
    const add = page.getByRole('button', { name: 'Add provider' });
    const another = page.getByRole('button', { name: 'Add another provider' });
    if ((await page.getByLabel('API key').count()) === 0) await another.click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('URL').fill('https://models.example/v1');
    await page.getByLabel('API key').fill('sk-example-0123456789');
    await add.click();
    await recorded(page, 'llm_providers.create');
    await page.locator('main > p', { hasText: name }).waitFor();
    await page.getByLabel('auth.registration_mode').selectOption('open');
    await page.getByRole('button', { name: 'Save' }).click();
    await recorded(page, 'settings.set');
    const token = await admin_token();
    await must('DELETE', '/v1/admin/settings/auth.registration_mode', undefined, { token });
    const path = '/v1/llm-providers?scope=platform';
    const made = (await must('GET', path, undefined, { token })).find((one) => one.name === name);
    const one = `/v1/llm-providers/${made.id}?scope=platform`;
    await must('DELETE', one, undefined, { token });
  },

  'the dashboard: numbers, health, a plot': async (t) => {
    const account = await make_account();
    await make_run(account.token, '[say hello]');
    const page = await as_admin(t, '/platform');
    await page.locator('.figures li', { hasText: 'users' }).first().waitFor();
    await page.getByRole('heading', { name: 'System checks' }).waitFor();
    await page.locator('.plot canvas').waitFor();
    await page.getByRole('button', { name: 'Cost' }).click();
    await page.locator('.plot canvas').waitFor();
  },

  'a user is found, suspended and activated, by keyboard': async (t) => {
    const account = await make_account();
    const page = await as_admin(t, '/');
    await page.keyboard.press('p');
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Users' }).waitFor();
    await tab_to(page, 'Part of a login');
    await page.keyboard.type(account.login);
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('tbody tr').count()) === 1, 'one row');
    await tab_to(page, account.login);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    await settled(page);
    await tab_to(page, 'Suspend');
    await page.keyboard.press('Enter');
    await dialog(page).getByText('ends all sessions').waitFor();
    await tab_to(page, 'Suspend');
    await page.keyboard.press('Enter');
    await recorded(page, 'users.suspend');
    same((await call('GET', '/v1/me', undefined, { token: account.token })).status, 401, 'token');
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await dialog(page).getByRole('button', { name: 'Reactivate' }).click();
    await recorded(page, 'users.activate');
  },

  'a user is changed and deleted': async (t) => {
    const account = await make_account();
    const page = await as_admin(t, `/platform/users/${account.id}`);
    await section(page, 'Edit account').getByLabel('Name').fill('Ada of the flows');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.locator('h1', { hasText: 'Ada of the flows' }).waitFor();
    await recorded(page, 'users.update');
    await section(page, 'Edit account').getByLabel('Time zone').fill('Europe/Rome');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('en, Europe/Rome').waitFor();
    await page.getByRole('button', { name: 'Delete user' }).click();
    const agree = dialog(page).getByRole('button', { name: 'Delete user' });
    check(await agree.isDisabled(), 'agreed without typing');
    await dialog(page).getByRole('textbox').fill(account.login);
    await agree.click();
    await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
  },

  'a setting: found, refused with its bounds, changed, taken back': async (t) => {
    t.allow(422);
    const page = await as_admin(t, '/platform/settings');
    await page.getByLabel('Search settings').fill('limit.repair_turns');
    const row = page.locator('tbody tr', { hasText: 'limit.repair_turns' });
    await row.getByText('0 to 10 turns').waitFor();
    await row.getByText('default').waitFor();
    await row.getByRole('button', { name: 'Change: limit.repair_turns' }).click();
    await dialog(page).getByText('within a second').waitFor();
    await dialog(page).getByLabel('Value').fill('11');
    await page.keyboard.press('Enter');
    await dialog(page).locator('.fault').waitFor();
    await dialog(page).getByLabel('Value').fill('3');
    await page.keyboard.press('Enter');
    await recorded(page, 'settings.set');
    await row.getByText('changed here').waitFor();
    await row.getByRole('button', { name: 'Reset' }).click();
    await dialog(page).getByRole('button', { name: 'Reset' }).click();
    await recorded(page, 'settings.unset');
    await row.getByText('default').waitFor();
  },

  'credits of one organization, and what a change of all would do': async (t) => {
    const account = await make_account();
    const org_id = await org_of(account);
    const page = await as_admin(t, `/platform/credits?org_id=${org_id}`);
    const adjust = section(page, 'Adjust credits');
    await adjust.getByLabel('Amount').fill('250');
    await adjust.getByText('The balance changes from').waitFor();
    await adjust.getByLabel('Note').fill('for the flow');
    await adjust.getByRole('button').click();
    await recorded(page, 'credits.adjust');
    await page.locator('tbody tr', { hasText: 'for the flow' }).getByText('+250').waitFor();
    const all = section(page, 'All organizations');
    await all.getByLabel('Amount').fill('-5');
    await all.getByRole('button', { name: 'Adjust all' }).click();
    await dialog(page).getByText('organizations lose 5 credits each').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await all.getByRole('button', { name: 'Set all to 0' }).click();
    check(
      await dialog(page).getByRole('button', { name: 'Set all to 0' }).isDisabled(),
      'agreed without typing',
    );
  },

  'a plan, a subscription, an override, and where each value comes from': async (t) => {
    const org_id = await org_of(await make_account());
    const page = await as_admin(t, '/platform/plans');
    const plan = section(page, 'Create a plan');
    const name = `flow-${Date.now()}`;
    await plan.getByLabel('Name', { exact: true }).fill(name);
    await plan.getByLabel('Display name').fill(`Plan ${name}`);
    await plan.getByLabel('Entitlements').fill('limit.personas = 77');
    await plan.getByRole('button').click();
    await recorded(page, 'plans.create');
    const subscribe = section(page, 'Subscribe an organization');
    await subscribe.getByLabel('Organization ID').fill(org_id);
    await subscribe.getByLabel('Plan').selectOption({ label: `Plan ${name}` });
    await subscribe.getByRole('button').click();
    await recorded(page, 'subscriptions.create');
    await page.getByRole('link', { name: org_id }).first().click();
    const row = page.locator('tbody tr', { hasText: 'limit.personas' }).first();
    await row.getByText('77').waitFor();
    await row.getByText('plan', { exact: true }).waitFor();
    const override = section(page, 'Override a value');
    await override.getByLabel('Key').fill('limit.personas');
    await override.getByRole('textbox', { name: 'Value' }).fill('78');
    await override.getByLabel('Reason').fill('a favour');
    await override.getByRole('button').click();
    await recorded(page, 'entitlements.override_set');
    await row.getByText('78').waitFor();
    await row.getByText('without the override').waitFor();
    await page.getByRole('button', { name: 'End override: limit.personas' }).click();
    await dialog(page).getByRole('button', { name: 'End override' }).click();
    await recorded(page, 'entitlements.override_deleted');
    await row.getByText('77').waitFor();
  },

  'a flag, and why an organization has its value': async (t) => {
    const org_id = await org_of(await make_account());
    const page = await as_admin(t, '/platform/flags');
    const key = `flow.f${Date.now()}`;
    const make = section(page, 'Create a flag');
    await make.getByRole('textbox', { name: 'Flag' }).fill(key);
    await make.getByLabel('Description').fill('a flow');
    await make.getByRole('button').click();
    await recorded(page, 'feature_flags.create');
    await page.getByRole('button', { name: key, exact: true }).click();
    const why = section(page, 'Look up a value');
    await why.getByLabel('Organization ID').fill(org_id);
    await why.getByRole('button').click();
    await why.getByText('The organization has no override').waitFor();
    const override = section(page, 'Override for an organization');
    await override.getByLabel('Organization ID').fill(org_id);
    await override.getByRole('button').click();
    await recorded(page, 'feature_flags.override_set');
    await why.getByRole('button').click();
    await why.getByText('the organization has an override').waitFor();
    await page.getByRole('button', { name: `Delete: ${key}` }).click();
    await dialog(page).getByRole('textbox').fill(key);
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await recorded(page, 'feature_flags.delete');
  },

  'the health of every part, in the words of the doctor': async (t) => {
    const page = await as_admin(t, '/platform/nodes');
    for (const kind of ['daemon', 'pool', 'database']) {
      await page.locator('tbody .mark', { hasText: kind }).first().waitFor();
    }
    await page.locator('tbody tr', { hasText: 'Postgres' }).getByText('ok').waitFor();
    for (const queue of ['runs', 'outbox']) {
      const row = page.locator('tbody tr', { has: page.getByText(queue, { exact: true }) });
      await row.getByText('ok').first().waitFor();
    }
  },

  'the access log as it comes, filtered': async (t) => {
    const page = await as_admin(t, '/platform/access-log?path=/v1/me');
    const path = `/v1/me/feature-flags`;
    const account = await make_account();
    await until(async () => {
      await must('GET', path, undefined, { token: account.token });
      return (await page.locator('tbody tr', { hasText: account.login }).count()) > 0;
    }, 'the new row');
    await page.getByLabel('Method').selectOption('DELETE');
    await page.getByRole('button', { name: 'Apply' }).click();
    const row = page.locator('tbody tr', { hasText: account.login });
    await row.first().waitFor({ state: 'detached' });
    check(page.url().includes('method=DELETE'), page.url());
  },

  'a test mail': async (t) => {
    t.allow(502, 503);
    const page = await as_admin(t, '/platform/mail');
    await page.getByText('configured').first().waitFor();
    const test = section(page, 'Send a test email');
    await test.getByLabel('Email address').fill('ada@example.org');
    await test.getByRole('button').click();
    await page.locator('.notice, .error').first().waitFor();
  },

  'what an address would be behind a proxy, before it is saved': async (t) => {
    const page = await as_admin(t, '/platform/gateway');
    await page.getByText('The client’s address is 10.0.0.1.').waitFor();
    await page.getByLabel('How to determine the client').selectOption('proxy');
    await page.getByText('not in a trusted network').waitFor();
    await page.getByLabel('Trusted networks').fill('10.0.0.0/8');
    await page.getByText('The client’s address is 203.0.113.9.').waitFor();
  },

  'codes are made, switched off, and a tree of referrals shown': async (t) => {
    const inviter = await make_account();
    const { code } = await must('GET', '/v1/me/invite-code', undefined, { token: inviter.token });
    const login = `${inviter.login}b`;
    const invitee = { login, email: `${login}@example.org`, password: 'correct horse battery' };
    await must('POST', '/v1/auth/register', { ...invitee, invite_code: code });
    const page = await as_admin(t, `/platform/codes?user_id=${inviter.id}`);
    await page.locator('main ul').getByRole('link', { name: login }).waitFor();
    const make = section(page, 'Create redemption codes');
    await make.getByLabel('Value').fill('50');
    await make.getByRole('button', { name: 'Create redemption codes' }).click();
    await recorded(page, 'redemption_codes.create');
    const made = await make.locator('pre').innerText();
    await page.getByRole('button', { name: `Turn off: ${made}` }).click();
    await recorded(page, 'redemption_codes.update');
    await page.locator('tbody tr', { hasText: made }).getByText('off').waitFor();
  },
};
