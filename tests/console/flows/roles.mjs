// What each role is offered, and where a user goes on whom an organization does not admit, who has
// another account, or who acts in another organization than the address is about.
import {
  admin_token,
  call,
  check,
  mail_with,
  make_account,
  make_run,
  must,
  password,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';

const button = (place, name) => place.getByRole('button', { name, exact: true });
const token_of = async (email, screen) =>
  (await mail_with(email, new RegExp(`#/${screen}\\?token=([\\w-]+)`)))[1];

async function proved_account() {
  const account = await make_account();
  const token = await token_of(account.email, 'verify');
  await must('POST', '/v1/auth/email/verify/confirm', { token });
  return account;
}

async function workspace(owner, name = 'Two') {
  const body = { name, slug: `w-${owner.login}` };
  return must('POST', '/v1/orgs', body, { token: owner.token });
}

async function invite(owner, org, email, role) {
  const path = `/v1/orgs/${org.id}/invitations`;
  return (await must('POST', path, { email, role }, { token: owner.token })).token;
}

// A further member of that role.
async function member_of(owner, org, role) {
  const account = await proved_account();
  const token = await invite(owner, org, account.email, role);
  await must('POST', `/v1/org-invitations/${token}/accept`, undefined, { token: account.token });
  return account;
}

async function sign_in_below(page, account) {
  await page.getByLabel('Login or email address').fill(account.login);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.keyboard.press('Enter');
}

export const flows = {
  'who is no owner is not offered what only owners may': async (t) => {
    const owner = await make_account();
    const org = await workspace(owner);
    const admin = await member_of(owner, org, 'admin');
    const member = await member_of(owner, org, 'member');
    const row = (page, { login }) => page.locator('tbody tr', { hasText: login });
    const open = async (account) => {
      const page = await t.page();
      await t.sign_in(page, account, '/organization');
      await page.locator('select.org').selectOption(org.id);
      await row(page, member).waitFor();
      await settled(page);
      return page;
    };
    const page = await open(admin);
    same(await row(page, owner).locator('select, button').count(), 0, 'what is done to an owner');
    const roles = await row(page, member).locator('option').allInnerTexts();
    same(roles, ['Member', 'Administrator'], 'roles that an administrator gives');
    await button(page, `Leave: ${admin.login}`).waitFor();
    const of_owner = await open(owner);
    same(await row(of_owner, member).locator('option').count(), 3, 'roles that an owner gives');
    const of_member = await open(member);
    same(await of_member.locator('tbody :is(select, button)').count(), 1, 'a member may leave');
  },

  'an address that the role does not open says so, and asks for nothing': async (t) => {
    const owner = await make_account();
    const org = await workspace(owner);
    const member = await member_of(owner, org, 'member');
    const page = await t.page();
    await t.sign_in(page, member, '/providers');
    await button(page, 'New provider').waitFor();
    await settled(page);
    // As one goes from an own organization to one where one is a member.
    await page.locator('select.org').selectOption(org.id);
    const note = page.getByText('Your role does not give access to this page.');
    await note.waitFor();
    t.calls = [];
    for (const path of ['/webhooks', '/tools?scope=platform', '/audit', '/platform/users']) {
      await t.open(page, path);
      await note.waitFor();
    }
    const asked = t.calls.filter(({ path }) => /webhook|tools|audit|admin/.test(path));
    same(asked, [], 'calls for what is not shown');
  },

  'every member sees the plan of the organization': async (t) => {
    const owner = await make_account();
    const org = await workspace(owner);
    const member = await member_of(owner, org, 'member');
    const admin = { token: await admin_token() };
    const name = { name: `plan-${owner.login}`, display_name: 'Pro', entitlements: [] };
    const plan = await must('POST', '/v1/plans', name, admin);
    const page = await t.page();
    await t.sign_in(page, member, '/limits');
    await settled(page);
    same(await page.getByText('Plan: ').count(), 0, 'plans of who has none');
    const period = {
      current_period_start: '2026-01-01T12:00:00Z',
      current_period_end: '2099-01-01T12:00:00Z',
    };
    const subscription = { org_id: org.id, plan_id: plan.id, ...period };
    await must('POST', '/v1/subscriptions', subscription, admin);
    await page.locator('select.org').selectOption(org.id);
    await page.getByText('Plan: Pro.').waitFor();
    await page.getByText('– 1 Jan 2099').waitFor();
  },

  "a run of somebody else's leads to no thread of theirs": async (t) => {
    const owner = await make_account();
    const org = await workspace(owner);
    const member = await member_of(owner, org, 'member');
    const headers = { 'X-Org-Id': org.id };
    const amount = { org_id: org.id, amount: 1000 };
    await must('POST', '/v1/admin/credits/adjust', amount, { token: await admin_token() });
    const options = { token: member.token, headers };
    const thread = await must('POST', '/v1/threads', {}, options);
    const message = { content: '[say mine]' };
    await must('POST', `/v1/threads/${thread.id}/messages`, message, options);
    const { run_id } = await must('POST', `/v1/threads/${thread.id}/runs`, {}, options);
    const page = await t.page();
    await t.sign_in(page, owner, '/runs');
    await page.locator('select.org').selectOption(org.id);
    await page.locator(`a[href="#/runs/${run_id}"]`).click();
    await page.locator('.facts').getByText(thread.id).waitFor();
    same(await page.locator(`a[href*="/threads/${thread.id}"]`).count(), 0, 'ways to the thread');
  },

  'rules that shut one out leave a way to the own organization, and out': async (t) => {
    t.allow(403);
    const owner = await make_account();
    const org = await workspace(owner);
    const page = await t.page();
    await t.sign_in(page, owner, '/usage');
    await page.locator('select.org').selectOption(org.id);
    await until(
      async () => (await page.locator('select.org').inputValue()) === org.id,
      'the organization',
    );
    await settled(page);
    const rule = { type: 'allowlist', cidr: '203.0.113.0/24', force: true };
    const there = { token: owner.token, headers: { 'X-Org-Id': org.id } };
    await must('POST', '/v1/ip-rules', rule, there);
    await page.reload();
    await page.locator('.error').getByText('ip.blocked').waitFor({ state: 'attached' });
    await button(page, 'Go to your personal organization').click();
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.locator('select.org').selectOption(org.id);
    await page.locator('.error').getByText('ip.blocked').waitFor({ state: 'attached' });
    await page.locator('main').getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },

  'who is removed from an organization is in their own one, and is told': async (t) => {
    t.allow(404);
    const owner = await make_account();
    const org = await workspace(owner, 'The team');
    const member = await member_of(owner, org, 'admin');
    const page = await t.page();
    await t.sign_in(page, member, '/webhooks');
    await page.locator('select.org').selectOption(org.id);
    await settled(page);
    const path = `/v1/orgs/${org.id}/members/${member.id}`;
    await must('DELETE', path, undefined, { token: owner.token });
    await page.getByRole('link', { name: 'Members' }).click();
    await page.locator('.toast', { hasText: 'You are no longer a member of The team' }).waitFor();
    await page.locator('h1', { hasText: `${member.login}'s workspace` }).waitFor();
    await settled(page);
    same(await page.locator('main .error').count(), 0, 'errors');
  },

  'where the address has to be proved first, that is all one is told': async (t) => {
    t.allow(403);
    await with_setting('auth.require_email_verification', true, async () => {
      await until(async () => {
        const probe = await make_account();
        const { status } = await call('GET', '/v1/orgs', undefined, { token: probe.token });
        return status === 403;
      }, 'the setting');
      const page = await t.page();
      await t.open(page, '/register');
      const login = `first${Date.now()}`;
      const email = `${login}@example.org`;
      await page.getByLabel('Login').fill(login);
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await button(page, 'Create account').click();
      await page.getByText('You can use everything else after you confirm your address.').waitFor();
      same(await page.locator('main .error').count(), 0, 'errors');
      const other = await t.page({ of: page });
      await t.open(other, `/verify?token=${await token_of(email, 'verify')}`);
      await button(other, 'Confirm').click();
      await page.getByLabel('Search threads').waitFor();
    });
  },

  'of another organization the list is opened, not a thing that it does not have': async (t) => {
    const { account, page } = await t.signed_in({}, '/threads');
    const org = await workspace(account);
    const run_id = await make_run(account.token, '[say here]');
    const run = await must('GET', `/v1/runs/${run_id}`, undefined, { token: account.token });
    await page.reload();
    for (const [path, list] of [
      [`/threads/${run.thread_id}`, '#/threads'],
      [`/runs/${run_id}`, '#/runs'],
    ]) {
      await t.open(page, path);
      await settled(page);
      await page.locator('select.org').selectOption(org.id);
      await until(() => page.url().endsWith(list), list);
      await settled(page);
      same(await page.locator('main .error').count(), 0, 'errors');
      await page.locator('select.org').selectOption({ label: `${account.login}'s workspace` });
      await settled(page);
    }
  },

  'an invitation is accepted by another account than was signed in': async (t) => {
    t.allow(403);
    const owner = await make_account();
    const org = await workspace(owner, 'The team');
    const guest = await proved_account();
    const token = await invite(owner, org, guest.email, 'member');
    const { page } = await t.signed_in();
    await t.open(page, `/invitation?token=${token}`);
    const idle = page.locator('header').getByRole('button', { name: /Menu|Ctrl K/ });
    same(await idle.count(), 0, 'buttons that open nothing here');
    await button(page, 'Accept').click();
    await page.getByText('invitations.email_mismatch').waitFor({ state: 'attached' });
    await button(page, 'Use another account').click();
    await sign_in_below(page, guest);
    await button(page, 'Accept').click();
    await page.locator('.toast', { hasText: 'You are now a member of The team' }).waitFor();
  },

  'an address that is proved in another tab is proved in this one': async (t) => {
    const { account, page } = await t.signed_in({}, '/usage');
    const banner = page.locator('aside.banner');
    await banner.waitFor();
    const other = await t.page({ of: page });
    await t.open(other, `/verify?token=${await token_of(account.email, 'verify')}`);
    await button(other, 'Confirm').click();
    await banner.waitFor({ state: 'detached' });
    const { status } = await call('GET', '/v1/me', undefined, { token: account.token });
    check(status === 200, `${status}`);
  },
};
