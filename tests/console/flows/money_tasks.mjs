// Tests what the platform gives to organizations, on a telephone's width and by keyboard alone:
// credits, plans, limits and features, flags, codes.
import { admin_token, check, make_account, must, same, until } from '../harness.mjs';
import { audited, choose, dialog, phone, press, type } from '../keyboard_steps.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const org_of = async ({ token }) => (await must('GET', '/v1/me', undefined, { token })).org_id;
const tag = () => Date.now().toString(36);
const post = async (path, body) => must('POST', path, body, { token: await admin_token() });

export const flows = {
  'credits: an organization is found by its member, and given some': async (t) => {
    const account = await make_account();
    const page = await phone(t, admin, '/platform/credits');
    await type(page, 'Organization ID', account.login);
    await press(page, `${account.login}'s workspace`);
    await until(async () => page.url().includes(await org_of(account)), 'the address says which');
    await type(page, 'Amount', '250');
    await page.getByText('The balance changes from').waitFor();
    await press(page, 'Adjust credits');
    await audited(page, 'credits.adjust');
    await t.fits(page, 'credits');
  },

  'credits: what a change of all would do, and did': async (t) => {
    const account = await make_account();
    const org_id = await org_of(account);
    const page = await phone(t, admin, `/platform/credits?org_id=${org_id}`);
    const amounts = page.getByLabel('Amount');
    await type(page, 'Amount', '1');
    await type(page, 'Amount', '1');
    same(
      await Promise.all([0, 1].map((at) => amounts.nth(at).inputValue())),
      ['1', '1'],
      'amounts',
    );
    await press(page, 'Adjust all');
    await dialog(page)
      .getByText(/^[\d,]+ organizations get 1 credits each, [\d,]+ in total\.$/)
      .waitFor();
    await t.fits(page, 'the question before all are changed');
    await press(page, 'Adjust all');
    await audited(page, 'credits.bulk_adjust');
    await page.locator('tbody tr').getByText('+1', { exact: true }).waitFor();
    await t.fits(page, 'a ledger');
  },

  'credits: all to 0 is done by nobody by mistake': async (t) => {
    const page = await phone(t, admin, '/platform/credits');
    await press(page, 'Set all to 0');
    await dialog(page).getByText('Runs that need credits stop').waitFor();
    await page.keyboard.type('all to');
    await page.keyboard.press('Enter');
    check(await dialog(page).getByRole('button', { name: 'Set all to 0' }).isDisabled(), 'done');
    await t.fits(page, 'the question before all are 0');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  },

  'plans: one is made': async (t) => {
    const page = await phone(t, admin, '/platform/plans');
    const name = `road-${tag()}`;
    await type(page, 'Name', name);
    await type(page, 'Display name', `Plan ${name}`);
    await type(page, 'Entitlements, one per line', 'limit.personas = 9');
    await press(page, 'Create a plan');
    await audited(page, 'plans.create');
    await t.fits(page, 'plans');
  },

  'subscriptions: an organization has a plan, and loses it': async (t) => {
    const name = `trial-${tag()}`;
    const entitlements = [{ key: 'limit.personas', value: '7', value_type: 'integer' }];
    await post('/v1/plans', { name, display_name: `Plan ${name}`, entitlements });
    const account = await make_account();
    const org_id = await org_of(account);
    const page = await phone(t, admin, '/platform/plans');
    await type(page, 'Organization ID', account.login);
    await press(page, `${account.login}'s workspace`);
    await choose(page, 'Plan', `Plan ${name}`);
    await press(page, 'Subscribe an organization');
    await audited(page, 'subscriptions.create');
    const row = page.locator('tr', { hasText: org_id });
    await row.getByText('active', { exact: true }).waitFor();
    await t.fits(page, 'subscriptions');
    await press(page, `Cancel: ${org_id}`);
    await dialog(page).getByText(`loses the entitlements of Plan ${name}`).waitFor();
    await press(page, 'Cancel');
    await audited(page, 'subscriptions.cancel');
    await row.getByText('cancelled').waitFor();
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

  'entitlements: why a value is what it is, and an override ends': async (t) => {
    const org_id = await org_of(await make_account());
    const override = { org_id, key: 'limit.api_keys', value: '3', value_type: 'integer' };
    await post('/v1/entitlement-overrides', { ...override, reason: 'a favour' });
    const page = await phone(t, admin, `/platform/entitlements?org_id=${org_id}`);
    const row = page.locator('tr', { hasText: 'limit.api_keys' }).first();
    await row.getByText('override', { exact: true }).waitFor();
    await row.getByText('without the override').waitFor();
    await page.getByText('a favour').waitFor();
    await press(page, 'End override: limit.api_keys');
    await dialog(page).getByText('returns to the value of the plan').waitFor();
    await press(page, 'End override');
    await audited(page, 'entitlements.override_deleted');
    await row.getByText('default', { exact: true }).waitFor();
    await t.fits(page, 'an override that ended');
  },

  'flags: one is made, and why it is off': async (t) => {
    const page = await phone(t, admin, '/platform/flags');
    const key = `road.f${tag()}`;
    await type(page, 'Flag', key);
    await press(page, 'Create a flag');
    await audited(page, 'feature_flags.create');
    await press(page, key);
    await press(page, 'Look up');
    await page.getByText('The organization has no override').waitFor();
    await t.fits(page, 'flags');
    await press(page, `Delete: ${key}`);
    await dialog(page).waitFor();
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await audited(page, 'feature_flags.delete');
  },

  'flags: on for one organization, then for all': async (t) => {
    const key = `road.g${tag()}`;
    await post('/v1/feature-flags', { key, description: 'a flow', default_value: false });
    const org_id = await org_of(await make_account());
    const page = await phone(t, admin, `/platform/flags?flag=${key}`);
    await type(page, 'Organization ID', org_id);
    await press(page, 'Look up');
    await page.getByText(`${key} is off, the flag’s default.`).waitFor();
    await type(page, 'Organization ID', org_id);
    await press(page, 'Override for an organization');
    await audited(page, 'feature_flags.override_set');
    await page.locator('main').focus();
    await type(page, 'Organization ID', org_id);
    await press(page, 'Look up');
    await page.getByText(`${key} is on because the organization has an override`).waitFor();
    await t.fits(page, 'an override of a flag');
    await press(page, `Turn on: ${key}`);
    await dialog(page).getByText('for every organization without an override').waitFor();
    await press(page, 'Turn on');
    await audited(page, 'feature_flags.update');
    const token = await admin_token();
    await must('DELETE', `/v1/feature-flags/${key}`, undefined, { token });
  },

  'codes: one is made and turned off': async (t) => {
    const page = await phone(t, admin, '/platform/codes');
    await type(page, 'Value', '50');
    await press(page, 'Create redemption codes');
    await audited(page, 'redemption_codes.create');
    const code = await page.locator('.panel pre').innerText();
    await type(page, 'Part of a code, login, email address or batch', code);
    await press(page, 'Search');
    await page.locator('tr', { hasText: code }).waitFor();
    await press(page, `Turn off: ${code}`);
    await audited(page, 'redemption_codes.update');
    await t.fits(page, 'codes');
  },

  'codes: an invitation serves no more': async (t) => {
    const { login, token } = await make_account();
    const { code } = await must('GET', '/v1/me/invite-code', undefined, { token });
    const page = await phone(t, admin, '/platform/codes');
    const row = page.locator('tr', { hasText: code });
    await row.getByText(login).waitFor();
    await press(page, `Change: ${code}`);
    await type(page, 'Maximum uses', '7');
    await page.keyboard.press('Enter');
    await row.getByText('0 / 7').waitFor();
    await press(page, `Turn off: ${code}`);
    await audited(page, 'invite_codes.update');
    await row.getByText('off', { exact: true }).waitFor();
    await t.fits(page, 'an invitation that was turned off');
  },

  'referrals: whom somebody brought, as a tree': async (t) => {
    const inviter = await make_account();
    const { code } = await must('GET', '/v1/me/invite-code', undefined, { token: inviter.token });
    const login = `${inviter.login}b`;
    const invitee = { login, email: `${login}@example.org`, password: inviter.password };
    await must('POST', '/v1/auth/register', { ...invitee, invite_code: code });
    const page = await phone(t, admin, '/platform/codes');
    await press(page, inviter.login);
    await page.getByRole('heading', { name: `${inviter.login}’s referrals` }).waitFor();
    await t.fits(page, 'a tree of referrals');
    await page.locator('main').focus();
    await press(page, login);
    await page.getByRole('heading', { name: 'Access' }).waitFor();
  },
};
