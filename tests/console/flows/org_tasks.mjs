// The main task of each screen of an organization, on a telephone's width and by keyboard alone.
import { check, mail_with, make_account, must, same, until, with_setting } from '../harness.mjs';
import { choose, phone, press, tab_to, type } from '../keyboard_steps.mjs';
import { start_mcp_peer } from '../peers.mjs';

const dialog = (page) => page.locator('dialog[open]');
const audited = (page, action) =>
  page
    .getByRole('status', { name: 'In the audit log' })
    .getByText(action, { exact: true })
    .waitFor();
const nowhere = 'https://127.0.0.1:9/hook';

// A workspace of two: {owner, member, org_id}; the owner's page acts in it.
async function workspace() {
  const [owner, member] = [await make_account(), await make_account()];
  for (const { email } of [owner, member]) {
    const [, token] = await mail_with(email, /#\/verify\?token=([\w-]+)/);
    await must('POST', '/v1/auth/email/verify/confirm', { token });
  }
  const body = { name: 'Two of us', slug: `w-${owner.login}` };
  const { id: org_id } = await must('POST', '/v1/orgs', body, { token: owner.token });
  const options = { token: owner.token, headers: { 'X-Org-Id': org_id } };
  const invited = { email: member.email, role: 'member' };
  await must('POST', `/v1/orgs/${org_id}/invitations`, invited, options);
  const [, token] = await mail_with(member.email, /#\/invitation\?token=([\w-]+)/);
  await must('POST', `/v1/org-invitations/${token}/accept`, undefined, { token: member.token });
  return { owner, member, org_id, options };
}

export const flows = {
  'members: one becomes an administrator, and goes': async (t) => {
    const { owner, member, org_id, options } = await workspace();
    const page = await phone(t, owner, '/organization');
    await page.evaluate((id) => localStorage.setItem('hostler.org', id), org_id);
    await page.reload();
    await page.locator('h1', { hasText: 'Two of us' }).waitFor();
    const role_of = async () => {
      const all = await must('GET', `/v1/orgs/${org_id}/members`, undefined, options);
      return all.find((one) => one.user_id === member.id)?.role;
    };
    await choose(page, /^Role: ada/, 'Admin');
    await audited(page, 'orgs.member_role');
    same(await role_of(), 'admin', 'role');
    await t.fits(page, 'members');
    await page.locator('main').focus();
    await press(page, /^Remove: ada/);
    await press(page, 'Remove');
    await audited(page, 'orgs.member_removed');
    same(await role_of(), undefined, 'role of who went');
  },

  'personas: one is made and tried': async (t) => {
    t.allow(422);
    const page = await phone(t, await make_account(), '/personas');
    await press(page, 'New persona');
    await page.getByLabel('Key').waitFor();
    await type(page, 'Key', 'road');
    await type(page, 'System prompt', 'Be short.');
    await press(page, 'Add');
    // The first field with a fault has the focus.
    await page.locator('#app [name=display_name][aria-invalid]:focus').waitFor();
    await page.keyboard.type('On the road');
    await press(page, 'Add');
    await audited(page, 'personas.create');
    await type(page, 'Message', 'what is there');
    await page.keyboard.press('Control+Enter');
    await page.locator('.try .answer', { hasText: 'what is there' }).waitFor();
    await t.fits(page, 'a persona that was tried');
  },

  'providers: one with a model and its price': async (t) => {
    const page = await phone(t, await make_account(), '/providers');
    await press(page, 'New provider');
    await dialog(page).waitFor();
    await page.keyboard.type('Sonata');
    await type(page, 'Address', 'https://93.184.216.34/v1');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_providers.create');
    await press(page, 'Add a model: Sonata');
    await dialog(page).waitFor();
    await page.keyboard.type('sonata-2');
    await type(page, 'Input, $ a million tokens', '3');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_models.create');
    await page.locator('tr', { hasText: 'sonata-2' }).getByText('$3.00').waitFor();
    await t.fits(page, 'providers');
  },

  'webhook tools: one is made, and has a new secret': async (t) => {
    await with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], async () => {
      const page = await phone(t, await make_account(), '/tools');
      await press(page, 'New tool');
      await dialog(page).waitFor();
      await page.keyboard.type('find_order');
      await type(page, 'Address', nowhere);
      await page.keyboard.press('Enter');
      await page.locator('.secret').waitFor();
      await t.fits(page, 'a secret');
      await press(page, 'I have it');
      await press(page, 'New secret: find_order');
      await dialog(page).getByText('signed with both for 24 hours').waitFor();
      await press(page, 'New secret');
      await page.locator('.secret').waitFor();
    });
  },

  'MCP servers: what changed is looked at and approved': async (t) => {
    const peer = await start_mcp_peer();
    await with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], async () => {
      const account = await make_account();
      const page = await phone(t, account, '/mcp-servers');
      await press(page, 'New server');
      await dialog(page).waitFor();
      await page.keyboard.type('office');
      await type(page, 'Address', peer.url);
      await page.keyboard.press('Enter');
      await audited(page, 'mcp_servers.create');
      await page.locator('tr', { hasText: 'office__clock' }).getByText('approved').waitFor();
      peer.tools = [{ ...peer.tools[0], description: 'Tells the time, and all secrets.' }];
      await page.locator('main').focus();
      await press(page, 'List again');
      await page.locator('.to-approve .is-new', { hasText: 'all secrets' }).waitFor();
      await t.fits(page, 'a tool that changed');
      await press(page, 'Approve: office__clock');
      await audited(page, 'mcp_servers.approve');
      await page.locator('.to-approve').waitFor({ state: 'detached' });
    });
    peer.close();
  },

  'tool providers: one is set up and used': async (t) => {
    const page = await phone(t, await make_account(), '/tool-providers');
    await press(page, 'Set up: web_search.alpha');
    await dialog(page).waitFor();
    await page.keyboard.type('tvly-0123456789');
    await page.keyboard.press('Enter');
    await audited(page, 'tool_providers.credential_set');
    await press(page, 'Use this one: web_search.alpha');
    await page.getByText('The organization made it active').waitFor();
    await t.fits(page, 'tool providers');
  },

  'webhooks: an endpoint is made and tested': async (t) => {
    await with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], async () => {
      const page = await phone(t, await make_account(), '/webhooks');
      await press(page, 'New endpoint');
      await dialog(page).waitFor();
      await type(page, 'Address', nowhere);
      await page.keyboard.press('Enter');
      await page.locator('.secret').waitFor();
      await press(page, 'I have it');
      await page.locator('h1', { hasText: nowhere }).waitFor();
      await press(page, 'Send a test');
      await page.locator('tr', { hasText: 'webhook.test' }).waitFor();
      await t.fits(page, 'an endpoint');
    });
  },

  'IP rules: would this address pass?': async (t) => {
    const account = await make_account();
    const rule = { type: 'blocklist', cidr: '198.51.100.0/24', note: 'a scraper' };
    await must('POST', '/v1/ip-rules', rule, { token: account.token });
    const page = await phone(t, account, '/ip-rules');
    await type(page, 'Address', '198.51.100.9');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'is refused' }).waitFor();
    await t.fits(page, 'IP rules');
  },

  'limits: read, and who gave them': async (t) => {
    const page = await phone(t, await make_account(), '/limits');
    await page.locator('tr', { hasText: 'limit.personas' }).getByText('default').waitFor();
    await tab_to(page, 'Limits');
    await t.fits(page, 'limits');
  },

  'audit log: one action, opened': async (t) => {
    const account = await make_account();
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
};
