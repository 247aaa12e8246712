// A person who has only the console, and a platform with nothing but its first administrator: sets
// the platform up, an organization with two members, a persona with a webhook tool and an MCP
// server, and watches a run that uses both. Called in a stack of its own (MODEL=none) by
// flows/whole.mjs, and with PICTURES=folder by pictures.mjs, which keeps what it saw.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  check,
  Flow,
  mail_with,
  must,
  password,
  same,
  settled,
  start_browser,
  stop_browser,
  until,
} from './harness.mjs';
import { start_mcp_peer, start_tool_peer } from './peers.mjs';
import { start_model } from './pictures_model.mjs';

const folder = process.env.PICTURES;
const bytes_max = 150 * 1024;
const call = (index, name, given) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});
const model = await start_model((question, has_result) => {
  if (!/order/.test(question)) return [{ content: 'Good day.' }];
  if (has_result) {
    return [{ content: 'Order **A-1047** left on Monday, and comes on **Wednesday at noon**.' }];
  }
  return [
    { reasoning_content: 'The shop knows the order, the diary knows when we deliver.' },
    {
      tool_calls: [
        call(0, 'find_order', { order: 'A-1047' }),
        call(1, 'diary__next_delivery', { order: 'A-1047' }),
      ],
    },
  ];
});
const shop = await start_tool_peer(() => ({ order: 'A-1047', status: 'sent', day: 'Monday' }));
const of_order = { type: 'object', properties: { order: { type: 'string' } } };
const diary = await start_mcp_peer({
  said: 'Wednesday, 12:00',
  tools: [
    {
      name: 'next_delivery',
      description: 'Tells when an order is delivered.',
      inputSchema: { ...of_order, required: ['order'] },
      annotations: { readOnlyHint: true },
    },
  ],
});

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const bob = { login: 'bob', email: 'bob@example.org', password };
const dialog = (page) => page.locator('dialog[open]');
const button = (place, name) => place.getByRole('button', { name, exact: true });
const audited = (page, action) =>
  page
    .getByRole('status', { name: 'Last change' })
    .getByText(action, { exact: true })
    .waitFor({ state: 'attached' });
const section = (page, name) =>
  page.locator('section.panel', { has: page.getByRole('heading', { name, exact: true }) });
const go_by_navigation = async (page, name) => {
  const entries = page.locator('nav#navigation');
  await entries.getByRole('link', { name, exact: true }).click();
  await settled(page);
};

async function picture(page, name) {
  if (!folder) return;
  await settled(page);
  await page.evaluate(() => {
    document.activeElement?.blur();
    document.querySelectorAll('.toast button').forEach((each) => each.click());
  });
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
  check(statSync(path).size <= bytes_max, `${path} has ${statSync(path).size} bytes`);
  console.log(path);
}

// ------------------------------------------------ the platform

async function first_steps(page) {
  await page.getByText('Add a provider first.').waitFor();
  await picture(page, 'first_steps');
  const provider = section(page, 'Add provider');
  await provider.getByLabel('Name').fill('Sonata');
  await provider.getByLabel('URL').fill(model.url);
  await provider.getByLabel('API key').fill('sk-example-0123456789');
  await button(provider, 'Add provider').click();
  await audited(page, 'llm_providers.create');
  const first_model = section(page, 'Add model');
  await first_model.getByLabel('Model', { exact: true }).fill('sonata-2');
  await first_model.getByLabel('Input, $ per million tokens').fill('3');
  await first_model.getByLabel('Output, $ per million tokens').fill('15');
  await button(first_model, 'Add model').click();
  await audited(page, 'llm_models.create');
  await page.getByLabel('auth.registration_mode').selectOption('open');
  await button(page, 'Save').click();
  await audited(page, 'settings.set');
  const to_do = page.locator('main .mark', { hasText: 'to do' });
  await until(async () => (await to_do.count()) === 0, 'nothing is left to do');
  await picture(page, 'first_steps_done');
}

// The servers of this platform's agents are in its own network.
async function private_network(page) {
  await go_by_navigation(page, 'Settings');
  await page.getByLabel('Search settings').fill('outbound');
  await button(page, 'Change: outbound.allow_cidrs').click();
  await dialog(page).getByLabel('Value').fill('127.0.0.0/8');
  await button(dialog(page), 'Change').click();
  await audited(page, 'settings.set');
  await picture(page, 'settings');
}

async function webhook_tool(page) {
  await go_by_navigation(page, 'Webhook tools');
  await page.getByRole('link', { name: 'Platform', exact: true }).click();
  await button(page, 'New tool').click();
  await dialog(page).getByLabel('Name').fill('find_order');
  await dialog(page).getByLabel('Description').fill('Finds an order of the shop.');
  await dialog(page).getByLabel('URL').fill(shop.url);
  await dialog(page).getByLabel('Parameters').fill(JSON.stringify(of_order, null, 2));
  await button(dialog(page), 'Add').click();
  await button(page, 'I have saved it').click();
  await audited(page, 'tools.create');
}

// ------------------------------------------------ the organization

async function proved(page, email) {
  const [link] = await mail_with(email, /https:\S+#\/verify\?token=[\w-]+/);
  await page.goto(link);
  await page.locator('main form').getByRole('button').first().click();
  await page.getByText('Email address confirmed').or(page.locator('.toast')).first().waitFor();
}

async function organization(page) {
  await go_by_navigation(page, 'Members');
  await button(page, 'New workspace').click();
  await dialog(page).getByLabel('Name', { exact: true }).fill('Lovelace Analytics');
  await dialog(page).getByLabel('Short name').fill('lovelace');
  await button(dialog(page), 'New workspace').click();
  await page.locator('h1', { hasText: 'Lovelace Analytics' }).waitFor();
  await button(page, 'Invite a member').click();
  await dialog(page).getByLabel('Email address').fill(bob.email);
  await button(dialog(page), 'Invite a member').click();
  await audited(page, 'invitations.create');
}

// Workspaces begin without credits.
async function credits(page) {
  await go_by_navigation(page, 'Credit balances');
  await page.getByRole('textbox', { name: 'Organization ID' }).fill(admin.login);
  await button(page, 'Lovelace Analytics').click();
  const adjust = section(page, 'Adjust credits');
  await adjust.getByLabel('Amount').fill('5000');
  await adjust.getByText('from 0 to 5,000').waitFor();
  await adjust.getByLabel('Note').fill('To begin with');
  await button(adjust, 'Adjust credits').click();
  await audited(page, 'credits.adjust');
}

// The second member, in a browser of their own.
async function joins(t) {
  const page = await t.page();
  await t.open(page, '/register');
  await page.getByLabel('Login').fill(bob.login);
  await page.getByLabel('Email address').fill(bob.email);
  await page.getByLabel('Password', { exact: true }).fill(bob.password);
  await button(page, 'Create account').click();
  await page.locator('nav#navigation').waitFor();
  await proved(page, bob.email);
  const [link] = await mail_with(bob.email, /https:\S+#\/invitation\?token=[\w-]+/);
  await page.goto(link);
  await button(page, 'Accept').click();
  await page.locator('.toast', { hasText: 'Lovelace Analytics' }).waitFor();
}

async function mcp_server(page) {
  await go_by_navigation(page, 'MCP servers');
  await button(page, 'New server').click();
  await dialog(page).getByLabel('Key').fill('diary');
  await dialog(page).getByLabel('URL').fill(diary.url);
  await button(dialog(page), 'Add').click();
  const tool = page.locator('tr', { hasText: 'diary__next_delivery' });
  await tool.getByText('approved').waitFor();
  // What the server says differently later waits for approval.
  diary.tools = [
    { ...diary.tools[0], description: 'Tells when an order is delivered, in local time.' },
  ];
  await button(page, 'Reload tools').click();
  await page.locator('.to-approve .is-new', { hasText: 'local time' }).waitFor();
  await picture(page, 'mcp_server');
  await button(page, 'Approve: diary__next_delivery').click();
  await audited(page, 'mcp_servers.approve');
  await tool.getByText('approved').waitFor();
}

async function persona(page) {
  await page.getByRole('link', { name: 'New persona with all tools' }).click();
  await page.getByLabel('Key').fill('support');
  await page.getByLabel('Name').fill('Support');
  await page.getByLabel('Description').fill('Answers customers.');
  await page.getByLabel('System prompt').fill('You help customers of a shop. Be kind.');
  const tools = page.getByLabel('Tools', { exact: true });
  same(await tools.inputValue(), 'diary__*', 'tools of the server');
  await tools.fill('diary__*\nfind_order');
  await button(page, 'Add').click();
  await audited(page, 'personas.create');
  await picture(page, 'persona');
}

// ------------------------------------------------ the run

async function run(page) {
  await go_by_navigation(page, 'Threads');
  await page.getByRole('link', { name: 'New thread' }).click();
  await page.getByLabel('Persona').selectOption({ label: 'Support (support@1)' });
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Where is order A-1047?');
  await button(page, 'Send').click();
  await page.locator('.answer', { hasText: 'Wednesday at noon' }).waitFor();
  await picture(page, 'run_of_both');
  same([shop.calls.length, diary.calls.length], [1, 1], 'calls of the shop and of the diary');
  same(shop.calls[0].arguments, { order: 'A-1047' }, 'what the shop was asked');
  await go_by_navigation(page, 'Runs');
  await page.locator('main tbody a').first().click();
  await page.locator('.timeline').waitFor();
  for (const name of ['find_order', 'diary__next_delivery']) {
    await page.locator('.timeline', { hasText: name }).waitFor();
  }
  await picture(page, 'run_timeline');
}

await start_browser();
const t = new Flow();
try {
  const page = await t.page({ width: 1280, height: 800 });
  await t.sign_in(page, admin, '/platform/start');
  await first_steps(page);
  await private_network(page);
  await webhook_tool(page);
  await organization(page);
  await credits(page);
  await joins(t);
  await page.reload();
  await page.locator('nav#navigation').waitFor();
  await mcp_server(page);
  await persona(page);
  await run(page);
  await go_by_navigation(page, 'Members');
  same(await page.locator('tbody', { hasText: 'bob' }).locator('tr').count(), 2, 'members');
  await picture(page, 'members');
  const login = { login: bob.login, password: bob.password };
  const { access_token: token } = await must('POST', '/v1/auth/login', login);
  const [org] = (await must('GET', '/v1/orgs', undefined, { token })).filter(
    (one) => one.type === 'workspace',
  );
  same(org.name, 'Lovelace Analytics', 'what the second member is in');
} catch (error) {
  t.faults.unshift(error.stack);
  await t.picture(join(process.env.CONSOLE_TOOLS, 'whole.png'));
}
await t.end();
await stop_browser();
[model, shop, diary].forEach((peer) => peer.close());
console.log(t.faults.join('\n'));
process.exitCode = t.faults.length ? 1 : 0;
