// Tests what those who run an organization do: a flow for each of their screens, and what holds for
// all.
import { createHmac } from 'node:crypto';
import {
  base,
  check,
  make_account,
  must,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';

const screens =
  'organization personas personas/new providers tools mcp-servers tool-providers webhooks';
export const org_paths = `${screens} ip-rules limits audit`.split(' ').map((name) => `/${name}`);
const dialog = (page) => page.locator('dialog[open]').last();
const button = (place, name) => place.getByRole('button', { name, exact: true });
// No server answers there, and that is known at once.
const nowhere = 'https://127.0.0.1:9/hook';
const with_loopback = (work) => with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], work);

// The audit row that is shown after a change.
const audited = (page, action) =>
  page
    .getByRole('status', { name: 'Last change' })
    .getByText(action, { exact: true })
    .waitFor({ state: 'attached' });

const hostile = `<script>alert(1)</script> "><img src=x onerror=alert(1)> ${'W'.repeat(120)} אבג`;

// One of everything, with names that nobody would choose.
async function fill(token, words = hostile) {
  const org = (path, body) => must('POST', `${path}?scope=org`, body, { token });
  const persona = { persona_key: 'shop', version: '1', display_name: words.slice(0, 190) };
  const prompt = `${words}\nSell.\n`;
  const first = await org('/v1/personas', { ...persona, system_prompt: `${prompt}Be kind.` });
  const next = { ...persona, version: '2', system_prompt: `${prompt}Be quick.` };
  const second = await org('/v1/personas', next);
  const provider = await org('/v1/llm-providers', {
    name: words.slice(0, 190),
    provider_kind: 'openai',
    base_url: 'https://93.184.216.34/v1',
  });
  await must(
    'POST',
    `/v1/llm-providers/${provider.id}/models?scope=org`,
    { model: words.slice(0, 190), input_usd_per_mtok: 123456.789, output_usd_per_mtok: 0.00012 },
    { token },
  );
  await org('/v1/tools', {
    name: 'find_order',
    description: words,
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    url: `https://93.184.216.34/${'w'.repeat(300)}`,
  });
  const hook = { url: `https://93.184.216.34/${'w'.repeat(300)}`, events: ['run.completed'] };
  const endpoint = await must('POST', '/v1/webhook-endpoints', hook, { token });
  const rule = { type: 'blocklist', cidr: '2001:db8::/48', note: words };
  await must('POST', '/v1/ip-rules', rule, { token });
  return { first, second, endpoint };
}

export const flows = {
  'a persona is made, tried, changed, compared with its next version, deleted': async (t) => {
    const { page } = await t.signed_in({}, '/personas');
    await page.getByRole('button', { name: 'New persona' }).click();
    await page.getByLabel('Key').fill('shop');
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('System prompt').fill('Sell.\nBe kind.');
    await button(page, 'Add').click();
    await page.getByText('shop@1').first().waitFor();
    const pane = page.getByRole('region', { name: 'Try it' });
    await pane.getByLabel('Message').fill('what is there');
    await page.keyboard.press('Control+Enter');
    await pane.locator('.answer').getByText('what is there').waitFor();
    await pane.getByText('Working…').waitFor({ state: 'detached' });
    await page.getByLabel('System prompt').fill('Sell.\nBe quick.');
    await page.getByText('Unsaved changes are not part of the test.').waitFor();
    await button(page, 'Save').click();
    await audited(page, 'personas.update');
    await page.locator('.changed .line.is-old', { hasText: 'Be kind.' }).waitFor();
    await page.getByRole('link', { name: 'New version' }).click();
    same(await page.getByLabel('Version').inputValue(), '2', 'next version');
    await page.getByLabel('System prompt').fill('Sell.\nBe loud.');
    await button(page, 'Add').click();
    await page.getByLabel('Compare with').selectOption({ label: 'shop@1' });
    await page.locator('.versions .line.is-new', { hasText: 'Be loud.' }).waitFor();
    check(/with=/.test(page.url()), `no deep link: ${page.url()}`);
    await page.getByRole('button', { name: 'Delete persona' }).click();
    await dialog(page).getByText('shop@2').waitFor();
    await button(dialog(page), 'Delete persona').click();
    await audited(page, 'personas.delete');
    const left = page.locator('tbody tr', { hasText: 'shop@' });
    await until(async () => (await left.count()) === 1, 'one persona left');
  },

  'what was typed into a persona and not saved is there again': async (t) => {
    const { page } = await t.signed_in({}, '/personas');
    await page.getByRole('button', { name: 'New persona' }).click();
    await page.getByLabel('Key').fill('long');
    await page.getByLabel('Name').fill('Long');
    await page.getByLabel('System prompt').fill('The work of an hour.');
    await page.goBack();
    await page.getByRole('heading', { name: 'Personas' }).waitFor();
    await page.goForward();
    await page.getByText('Unsaved changes.').waitFor();
    same(await page.getByLabel('System prompt').inputValue(), 'The work of an hour.', 'prompt');
    await button(page, 'Add').click();
    await page.getByText('long@1').first().waitFor();
    await t.open(page, '/personas/new');
    await page.getByLabel('System prompt').waitFor();
    same(await page.getByLabel('Key').inputValue(), '', 'what was saved is no draft');
  },

  'a provider and a model with prices; both go': async (t) => {
    t.allow(422);
    const { account, page } = await t.signed_in({}, '/providers');
    await page.getByRole('button', { name: 'New provider' }).click();
    await dialog(page).getByLabel('Name').fill('Sonata');
    await dialog(page).getByLabel('URL').fill('https://127.0.0.1/v1');
    await dialog(page).getByLabel('API key').fill('sk-0123456789abcdef');
    await button(dialog(page), 'Add').click();
    await dialog(page).locator('.fault, .error').first().waitFor();
    await dialog(page).getByLabel('URL').fill('https://93.184.216.34/v1');
    await button(dialog(page), 'Add').click();
    await audited(page, 'llm_providers.create');
    check(!(await page.content()).includes('sk-0123456789abcdef'), 'the key is in the page');
    await page.getByRole('button', { name: 'Add a model: Sonata' }).click();
    await dialog(page).getByLabel('Model', { exact: true }).fill('sonata-2');
    await dialog(page).getByLabel('Input, $ per million tokens').fill('3');
    await dialog(page).getByLabel('Output, $ per million tokens').fill('15');
    await dialog(page).getByLabel('Default model').check();
    await page.getByText('It is the platform’s default').waitFor();
    await button(dialog(page), 'Add').click();
    await audited(page, 'llm_models.create');
    await page.getByText('It is the organization’s default.').waitFor();
    await page.getByRole('button', { name: 'Edit: sonata-2' }).click();
    await dialog(page).getByLabel('Output, $ per million tokens').fill('12.5');
    await button(dialog(page), 'Save').click();
    await page.locator('.changed .is-new', { hasText: '12.5' }).waitFor();
    const { token } = account;
    const [made] = await must('GET', '/v1/llm-providers?scope=org', undefined, { token });
    same(made.models[0].output_usd_per_mtok, 12.5, 'price');
    await page.getByRole('button', { name: 'Edit: sonata-2' }).click();
    await dialog(page).getByLabel('Output, $ per million tokens').fill('');
    await button(dialog(page), 'Save').click();
    await page.locator('.changed .is-old', { hasText: '12.5' }).waitFor();
    await page.getByRole('button', { name: 'Delete provider: Sonata' }).click();
    await dialog(page).getByText('(sonata-2)').waitFor();
    await dialog(page).getByRole('textbox').fill('Sonata');
    await button(dialog(page), 'Delete provider').click();
    await audited(page, 'llm_providers.delete');
  },

  'a webhook tool is made and called': async (t) => {
    await with_loopback(async () => {
      const { page } = await t.signed_in({}, '/tools');
      await page.getByRole('button', { name: 'New tool' }).click();
      await dialog(page).getByLabel('Name').fill('find_order');
      await dialog(page).getByLabel('Description').fill('Finds an order.');
      await dialog(page).getByLabel('URL').fill(nowhere);
      await dialog(page).getByLabel('Parameters').fill('{"type": "object", ');
      await button(dialog(page), 'Add').click();
      await dialog(page).locator('.fault', { hasText: 'is not valid JSON' }).waitFor();
      await dialog(page)
        .getByLabel('Parameters')
        .fill('{"type":"object","properties":{"n":{"type":"integer"}}}');
      await button(dialog(page), 'Add').click();
      check(/^whsec_/.test(await page.locator('.secret').innerText()), 'no secret');
      await button(dialog(page), 'I have saved it').click();
      await page.getByRole('button', { name: 'Try: find_order' }).click();
      await page.getByRole('button', { name: 'Create a persona with only this tool' }).click();
      const pane = page.getByRole('region', { name: 'Try it' });
      check(/find_order.*\{"n":1\}/.test(await pane.getByLabel('Message').inputValue()), 'message');
      await pane.getByLabel('Message').fill('[tool find_order {"n":7}]');
      await button(pane, 'Run').click();
      await pane.getByText('tool.unreachable').first().waitFor({ state: 'attached' });
      await pane.getByText('Working…').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Delete: find_order' }).click();
      await button(dialog(page), 'Delete').click();
      await audited(page, 'tools.delete');
    });
  },

  'which tool provider is used, and why': async (t) => {
    const { account, page } = await t.signed_in({}, '/tool-providers');
    const used = page
      .getByRole('region', { name: 'Provider in use' })
      .locator('tr', { hasText: 'web_search' });
    await used.getByText('No provider is activated').waitFor();
    const activate = page.getByRole('button', { name: 'Activate: web_search.alpha' });
    check(await activate.isDisabled(), 'one that is not set up may be activated');
    // The API allows it.
    const path = '/v1/tool-providers/web_search/web_search.alpha/activate?scope=org';
    await must('PUT', path, undefined, { token: account.token });
    await page.reload();
    await used.getByText('The organization activated it').waitFor();
    await used.getByText('not set up').waitFor();
    await page.getByRole('button', { name: 'Set up: web_search.alpha' }).click();
    await dialog(page).getByLabel('API key').fill('tvly-0123456789');
    await button(dialog(page), 'Save').click();
    await used.getByText('set up', { exact: true }).waitFor();
    await audited(page, 'tool_providers.credential_set');
    await page.getByRole('button', { name: 'Delete key: web_search.alpha' }).click();
    await button(dialog(page), 'Delete key').click();
    await audited(page, 'tool_providers.credential_deleted');
    await page.getByRole('button', { name: 'Deactivate: web_search.alpha' }).click();
    await used.getByText('No provider is activated').waitFor();
  },

  'a webhook endpoint, its deliveries, sent again; a signature is checked': async (t) => {
    await with_loopback(async () => {
      const { page } = await t.signed_in({}, '/webhooks');
      await page.getByRole('button', { name: 'New endpoint' }).click();
      await dialog(page).getByLabel('URL').fill(nowhere);
      await button(dialog(page), 'Add').click();
      const secret = await page.locator('.secret').innerText();
      await button(dialog(page), 'I have saved it').click();
      await page.getByRole('button', { name: 'Send test message' }).click();
      // It is looked for until it was tried.
      await page.getByRole('button', { name: /^Send again/ }).click();
      await page.getByText('Sent again with the same webhook-id.').waitFor();

      const timestamp = String(Math.floor(Date.now() / 1000));
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const message = `msg_1.${timestamp}.{"a":1}`;
      const signed = createHmac('sha256', key).update(message).digest('base64');
      const calls = t.calls.length;
      await page.getByLabel('Signing secret').fill(secret);
      await page.getByLabel('webhook-id', { exact: true }).fill('msg_1');
      await page.getByLabel('webhook-timestamp').fill(timestamp);
      await page.getByLabel('webhook-signature').fill(`v1,${signed}`);
      await page.getByLabel('Body, exactly as received').fill('{"a":1}');
      await button(page, 'Check').click();
      await page.locator('.mark.good', { hasText: 'valid' }).waitFor();
      await page.getByLabel('Body, exactly as received').fill('{"a":2}');
      await button(page, 'Check').click();
      await page.locator('.mark.bad', { hasText: 'invalid' }).waitFor();
      same(t.calls.length, calls, 'calls of the checker');

      await page.getByLabel('Send messages').uncheck();
      await button(page, 'Save').click();
      await audited(page, 'webhooks.update');
      await page.getByRole('button', { name: 'Delete endpoint' }).click();
      await button(dialog(page), 'Delete endpoint').click();
      await audited(page, 'webhooks.delete');
    });
  },

  'rules about addresses, would one pass, and nobody locks themself out unasked': async (t) => {
    t.allow(409);
    const { account, page } = await t.signed_in({}, '/ip-rules');
    const add = async (list, cidr) => {
      await page.getByRole('button', { name: 'New rule' }).click();
      await dialog(page).getByLabel('List').selectOption(list);
      await dialog(page).getByLabel('Address or network').fill(cidr);
      await button(dialog(page), 'Add').click();
    };
    const answer = async (address) => {
      await page.getByLabel('IP address', { exact: true }).fill(address);
      await button(page, 'Check').click();
      const said = page.getByRole('status').filter({ hasText: address });
      await said.waitFor();
      return said.innerText();
    };
    await add('blocklist', '198.51.100.0/24');
    await audited(page, 'ip_rules.create');
    check(/is refused.*198\.51\.100\.0\/24/.test(await answer('198.51.100.9')), 'a refusal');
    check(/is allowed.*no rule/.test(await answer('203.0.113.7')), 'a passage');
    await add('allowlist', '203.0.113.0/24');
    await dialog(page).getByText('This would lock you out').waitFor();
    await button(dialog(page), 'Cancel').click();
    await dialog(page).getByText('ip_rules.would_lock_out').waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete: 198.51.100.0/24' }).click();
    await button(dialog(page), 'Delete').click();
    await audited(page, 'ip_rules.delete');
    same(await must('GET', '/v1/ip-rules', undefined, { token: account.token }), [], 'rules left');
  },

  'limits: what is used, and where each comes from': async (t) => {
    const account = await make_account();
    const { token } = account;
    for (const version of ['1', '2', '3']) {
      await must('POST', '/v1/personas?scope=org', { persona_key: 'p', version }, { token });
    }
    const page = await t.page();
    await t.sign_in(page, account, '/limits');
    const row = page.locator('tr', { hasText: 'limit.personas' });
    await row.waitFor();
    const all = await must('GET', '/v1/entitlements', undefined, { token });
    const personas = all.find((one) => one.key === 'limit.personas');
    same(personas.used, 3, 'used');
    same(await row.locator('meter').getAttribute('max'), personas.value, 'limit');
    check((await row.innerText()).includes(personas.source), await row.innerText());
    same(await page.locator('tbody tr').count(), all.length, 'limits');
  },

  'the audit log: filters in the address, before and after': async (t) => {
    const account = await make_account();
    const { token } = account;
    const options = { token };
    const persona = { persona_key: 'p', version: '1', description: 'old words' };
    const { id } = await must('POST', '/v1/personas?scope=org', persona, options);
    const change = { description: 'new words' };
    await must('PATCH', `/v1/personas/${id}?scope=org`, change, options);
    const page = await t.page();
    await t.sign_in(page, account, '/audit');
    await page.getByText('auth.login').first().waitFor();
    await page.getByLabel('Action').fill('personas.update');
    await page.keyboard.press('Enter');
    await page.getByText('auth.login').first().waitFor({ state: 'detached' });
    check(/action=personas\.update/.test(page.url()), page.url());
    await page.reload();
    same(await page.getByLabel('Action').inputValue(), 'personas.update', 'filter of the address');
    await page.locator('.audit summary').first().click();
    await page.locator('.diff .is-old', { hasText: 'old words' }).waitFor();
    await page.locator('.diff .is-new', { hasText: 'new words' }).waitFor();
    const row = page.locator('.audit li').first();
    const [logged] = (
      await must('GET', '/v1/audit-logs?action=personas.update', undefined, options)
    ).data;
    await row.getByText(logged.trace_id).waitFor();
  },

  'the audit log says what is wrong with dates of its address': async (t) => {
    t.allow(422);
    const { page } = await t.signed_in({}, '/audit');
    for (const [path, field] of [
      ['/audit?since=yesterday', 'since'],
      ['/audit?until=2026-13-45', 'until'],
    ]) {
      await t.open(page, path);
      await page.locator('.error li code', { hasText: field }).waitFor();
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    }
  },

  'an address rule by keyboard alone': async (t) => {
    const { account, page } = await t.signed_in();
    await settled(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('ip rules');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'IP rules' }).waitFor();
    await settled(page);
    await page.keyboard.press('n');
    await dialog(page).waitFor();
    await page.keyboard.type('203.0.113.7');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await audited(page, 'ip_rules.create');
    const { token } = account;
    const [rule] = await must('GET', '/v1/ip-rules', undefined, { token });
    same([rule.type, rule.cidr], ['blocklist', '203.0.113.7/32'], 'rule');
  },

  'every screen of an organization with absurd names: 360 pixels, dark and light': async (t) => {
    const account = await make_account();
    const { first, second, endpoint } = await fill(account.token);
    const paths = [
      ...org_paths,
      `/personas/${second.id}?with=${first.id}`,
      `/webhooks/${endpoint.id}`,
    ];
    for (const [scheme, width] of [
      ['light', 360],
      ['dark', 1280],
    ]) {
      const page = await t.page({ scheme, width, height: 780 });
      await t.sign_in(page, account);
      for (const path of paths) {
        await t.open(page, path);
        await page.locator('main h1').waitFor();
        await settled(page);
        await page.locator('.audit summary').evaluateAll((all) => all[0]?.click());
        await t.fits(page, path);
        await t.axe(page, `${path} ${scheme}`);
      }
    }
  },

  'each screen shows its calls': async (t) => {
    const { page } = await t.signed_in({}, '/tool-providers');
    await settled(page);
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    await dialog(page).getByText('/v1/tool-providers/resolved').waitFor();
    check(!(await dialog(page).innerText()).includes('hat_'), 'a token is in what is copied');
    check(base.startsWith('https:'), base);
  },
};
