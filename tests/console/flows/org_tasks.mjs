// What those do who run an organization, on a telephone's width and by keyboard alone: members,
// webhooks, rules about addresses, limits, the audit log.
import { createHmac } from 'node:crypto';
import {
  admin_token,
  check,
  mail_with,
  make_account,
  must,
  must_soon,
  same,
  until,
  with_setting,
} from '../harness.mjs';
import {
  audited,
  choose,
  dialog,
  once,
  phone,
  press,
  tab_to,
  toast,
  type,
} from '../keyboard_steps.mjs';

const someone = once(make_account);
const nowhere = 'https://127.0.0.1:9/hook';
const with_loopback = (work) => with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], work);

async function prove_address({ email }) {
  const [, token] = await mail_with(email, /#\/verify\?token=([\w-]+)/);
  await must('POST', '/v1/auth/email/verify/confirm', { token });
}

// {owner, org_id, options}: a workspace, and how its owner calls in it.
const workspace = once(async () => {
  const owner = await make_account();
  await prove_address(owner);
  const body = { name: 'Two of us', slug: `w-${owner.login}` };
  const { id: org_id } = await must('POST', '/v1/orgs', body, { token: owner.token });
  return { owner, org_id, options: { token: owner.token, headers: { 'X-Org-Id': org_id } } };
});

async function new_member({ org_id, options }) {
  const member = await make_account();
  await prove_address(member);
  const invited = { email: member.email, role: 'member' };
  await must('POST', `/v1/orgs/${org_id}/invitations`, invited, options);
  const [, token] = await mail_with(member.email, /#\/invitation\?token=([\w-]+)/);
  await must('POST', `/v1/org-invitations/${token}/accept`, undefined, { token: member.token });
  return member;
}

// The owner's page, which acts in the workspace.
async function phone_in(t, { owner, org_id }, path) {
  const page = await phone(t, owner, path);
  if ((await page.evaluate(() => localStorage.getItem('hostler.org'))) === org_id) return page;
  await page.evaluate((id) => localStorage.setItem('hostler.org', id), org_id);
  await page.reload();
  await page.locator('.mark', { hasText: 'workspace' }).waitFor();
  return page;
}

// An endpoint that was sent a test message, which could not be delivered.
async function endpoint({ token }) {
  const body = { url: nowhere, events: ['run.completed'] };
  const made = await must_soon('POST', '/v1/webhook-endpoints', body, { token });
  const path = `/v1/webhook-endpoints/${made.id}`;
  await must('POST', `${path}:test`, undefined, { token });
  await until(async () => {
    const [first] = await must('GET', `${path}/deliveries`, undefined, { token });
    return first?.attempts > 0;
  }, 'a try');
  return made;
}

export const flows = {
  'members: one becomes an administrator, and goes': async (t) => {
    const of = await workspace();
    const { org_id, options } = of;
    const member = await new_member(of);
    const page = await phone_in(t, of, '/organization');
    const role_of = async () => {
      const all = await must('GET', `/v1/orgs/${org_id}/members`, undefined, options);
      return all.find((one) => one.user_id === member.id)?.role;
    };
    await choose(page, `Role: ${member.login}`, 'Admin');
    await audited(page, 'orgs.member_role');
    same(await role_of(), 'admin', 'role');
    await t.fits(page, 'members');
    await page.locator('main').focus();
    await press(page, `Remove: ${member.login}`);
    await press(page, 'Remove');
    await audited(page, 'orgs.member_removed');
    same(await role_of(), undefined, 'role of who went');
  },

  'invitations: one is sent, and taken back': async (t) => {
    const page = await phone_in(t, await workspace(), '/organization');
    await press(page, 'Invite a member');
    await dialog(page).waitFor();
    await page.keyboard.type('guest@example.org');
    await choose(page, 'Role', 'Admin');
    await press(page, 'Invite a member');
    await audited(page, 'invitations.create');
    await page.locator('tr', { hasText: 'guest@example.org' }).getByText('Admin').waitFor();
    await t.fits(page, 'invitations');
    await press(page, 'Revoke: guest@example.org');
    await audited(page, 'invitations.revoke');
    await page.locator('tr', { hasText: 'guest@' }).waitFor({ state: 'detached' });
  },

  'organization: it has another name': async (t) => {
    const page = await phone_in(t, await workspace(), '/organization');
    await type(page, 'Name', 'Both of us');
    await page.keyboard.press('Enter');
    await audited(page, 'orgs.update');
    await page.locator('h1', { hasText: 'Both of us' }).waitFor();
    await t.fits(page, 'an organization that was renamed');
  },

  'webhooks: an endpoint is made and tested': async (t) => {
    await with_loopback(async () => {
      const page = await phone(t, await someone(), '/webhooks');
      await press(page, 'New endpoint');
      await dialog(page).waitFor();
      await type(page, 'URL', nowhere);
      await page.keyboard.press('Enter');
      await page.locator('.secret').waitFor();
      await press(page, 'I have saved it');
      await page.locator('h1', { hasText: nowhere }).waitFor();
      await press(page, 'Send test message');
      await page.locator('tr', { hasText: 'webhook.test' }).waitFor();
      await t.fits(page, 'an endpoint');
    });
  },

  'webhooks: a delivery that failed is sent again': async (t) => {
    await with_loopback(async () => {
      const account = await someone();
      const { id } = await endpoint(account);
      const page = await phone(t, account, `/webhooks/${id}`);
      await press(page, /^Send again: webhook\.test/);
      await toast(page, 'Sent again with the same webhook-id.');
      await t.fits(page, 'deliveries');
    });
  },

  'webhooks: is this signature ours?': async (t) => {
    const page = await phone(t, await someone(), '/webhooks');
    const key = Buffer.from('a secret of twenty-four.');
    const timestamp = String(Math.floor(Date.now() / 1000));
    const message = `msg_1.${timestamp}.{"a":1}`;
    const signed = createHmac('sha256', key).update(message).digest('base64');
    await type(page, 'Signing secret', `whsec_${key.toString('base64')}`);
    await type(page, 'webhook-id', 'msg_1');
    await type(page, 'webhook-timestamp', timestamp);
    await type(page, 'webhook-signature', `v1,${signed}`);
    await type(page, 'Body, exactly as received', '{"a":1}');
    await press(page, 'Check');
    await page.locator('.mark.good', { hasText: 'valid' }).waitFor();
    await type(page, 'Body, exactly as received', '{"a":2}');
    await press(page, 'Check');
    await page.locator('.mark.bad', { hasText: 'invalid' }).waitFor();
    await t.fits(page, 'a signature');
  },

  'webhooks: an endpoint has a new secret, is turned off, and goes': async (t) => {
    await with_loopback(async () => {
      const account = await someone();
      const { id } = await endpoint(account);
      const page = await phone(t, account, `/webhooks/${id}`);
      await press(page, 'Rotate secret');
      await dialog(page).getByText('signed with both secrets for 24 hours').waitFor();
      await press(page, 'Rotate secret');
      await page.locator('.secret').waitFor();
      await press(page, 'I have saved it');
      await audited(page, 'webhooks.secret_rotated');
      await press(page, 'Send messages', 'Space');
      await press(page, 'Save');
      await audited(page, 'webhooks.update');
      await page.locator('.head .mark', { hasText: 'off' }).waitFor();
      await press(page, 'Delete endpoint');
      await dialog(page).getByText(nowhere).waitFor();
      await press(page, 'Delete endpoint');
      await audited(page, 'webhooks.delete');
      await t.fits(page, 'webhooks');
    });
  },

  'IP rules: would this address pass?': async (t) => {
    const account = await someone();
    const rule = { type: 'blocklist', cidr: '198.51.100.0/24', note: 'a scraper' };
    await must('POST', '/v1/ip-rules', rule, { token: account.token });
    const page = await phone(t, account, '/ip-rules');
    await type(page, 'IP address', '198.51.100.9');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'is refused' }).waitFor();
    await t.fits(page, 'IP rules');
  },

  'IP rules: one is made, and goes': async (t) => {
    const page = await phone(t, await someone(), '/ip-rules');
    await press(page, 'New rule');
    await dialog(page).waitFor();
    await page.keyboard.type('203.0.113.0/24');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowDown');
    await press(page, 'Add');
    await audited(page, 'ip_rules.create');
    const row = page.locator('tr', { hasText: '203.0.113.0/24' });
    await row.getByText('blocklist').waitFor();
    await press(page, 'Delete: 203.0.113.0/24');
    await dialog(page).getByText('are answered again').waitFor();
    await press(page, 'Delete');
    await audited(page, 'ip_rules.delete');
    await row.waitFor({ state: 'detached' });
  },

  'IP rules: nobody locks themself out unasked': async (t) => {
    t.allow(409);
    const page = await phone(t, await someone(), '/ip-rules');
    await press(page, 'New rule');
    await dialog(page).waitFor();
    await page.keyboard.type('192.0.2.0/24');
    await page.keyboard.press('Enter');
    await dialog(page).getByText('This would lock you out').waitFor();
    await t.fits(page, 'the question before one locks oneself out');
    await press(page, 'Cancel');
    await dialog(page).getByText('ip_rules.would_lock_out').waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    same(await page.locator('tr', { hasText: '192.0.2.0/24' }).count(), 0, 'rules');
  },

  'limits: read, and who gave them': async (t) => {
    const page = await phone(t, await someone(), '/limits');
    await page.locator('tr', { hasText: 'limit.personas' }).getByText('default').waitFor();
    await tab_to(page, 'Limits');
    await t.fits(page, 'limits');
  },

  'limits: one was overridden, and by whom': async (t) => {
    const account = await make_account();
    const { org_id } = await must('GET', '/v1/me', undefined, { token: account.token });
    const override = { org_id, key: 'limit.api_keys', value: '3', value_type: 'integer' };
    const token = await admin_token();
    await must('POST', '/v1/entitlement-overrides', override, { token });
    const page = await phone(t, account, '/limits');
    await page.locator('tr', { hasText: 'limit.api_keys' }).getByText('override').waitFor();
    await press(page, 'Change history');
    await page.locator('.audit .what', { hasText: 'entitlements.override_set' }).waitFor();
    await t.fits(page, 'who overrode a limit');
  },

  'audit log: one action, opened': async (t) => {
    const account = await someone();
    await must('POST', '/v1/api-keys', { name: 'one' }, { token: account.token });
    const page = await phone(t, account, '/audit');
    await type(page, 'Action', 'api_keys.create');
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('.audit > li').count()) === 1, 'one row');
    await press(page, /api_keys\.create/);
    await page.locator('.audit-details .is-new').first().waitFor();
    await t.fits(page, 'an audit row');
    check(page.url().includes('action=api_keys.create'), page.url());
  },

  'audit log: who changed this persona?': async (t) => {
    const account = await someone();
    const { token } = account;
    const made = { persona_key: 'shop', version: '1', description: 'old words' };
    const { id } = await must('POST', '/v1/personas?scope=org', made, { token });
    const change = { description: 'new words' };
    await must('PATCH', `/v1/personas/${id}?scope=org`, change, { token });
    const page = await phone(t, account, `/personas/${id}`);
    await press(page, 'Change history');
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    await until(async () => (await page.locator('.audit > li').count()) === 2, 'its two rows');
    await press(page, /personas\.update/);
    await page.locator('.diff .is-old', { hasText: 'old words' }).waitFor();
    await page.locator('.diff .is-new', { hasText: 'new words' }).waitFor();
    await t.fits(page, 'who changed a persona');
  },
};
