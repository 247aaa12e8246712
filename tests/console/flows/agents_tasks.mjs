// Tests what agents are made of, on a telephone's width and by keyboard alone: personas, models,
// tools, MCP servers.
import { make_account, must, must_soon, until, with_setting } from '../harness.mjs';
import { audited, choose, dialog, once, phone, press, type } from '../keyboard_steps.mjs';
import { clock_tool, start_mcp_peer } from '../peers.mjs';

const someone = once(make_account);
const nowhere = 'https://127.0.0.1:9/hook';
const with_loopback = (work) => with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], work);

// Made by the API in the organization of `account`: its id is what the task is about.
async function made(path, body, account = someone()) {
  const { token } = await account;
  return must_soon('POST', `${path}?scope=org`, body, { token });
}
const persona = (persona_key, more) => made('/v1/personas', { persona_key, version: '1', ...more });
const tool = (name) =>
  made('/v1/tools', {
    name,
    description: 'Finds an order.',
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    url: nowhere,
  });

// A provider with models of these names.
async function provider(name, models, account = someone()) {
  const body = { name, provider_kind: 'openai', base_url: 'https://93.184.216.34/v1' };
  const { id } = await made('/v1/llm-providers', body, account);
  for (const model of models) {
    await made(`/v1/llm-providers/${id}/models`, { model }, account);
  }
}

export const flows = {
  'personas: one is made and tried': async (t) => {
    t.allow(422);
    const page = await phone(t, await someone(), '/personas');
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

  'personas: one is changed, and what changed is shown': async (t) => {
    const { id } = await persona('wordy', { display_name: 'Wordy', system_prompt: 'Be long.' });
    const page = await phone(t, await someone(), `/personas/${id}`);
    await type(page, 'System prompt', 'Be short.');
    await page.getByText('Unsaved changes are not part of the test.').waitFor();
    await press(page, 'Save');
    await audited(page, 'personas.update');
    await page.locator('.changed .is-old', { hasText: 'Be long.' }).waitFor();
    await page.locator('.changed .is-new', { hasText: 'Be short.' }).waitFor();
    await t.fits(page, 'a persona that was changed');
  },

  'personas: a next version, compared with the first, and deleted': async (t) => {
    const { id } = await persona('twice', { display_name: 'Twice', system_prompt: 'Be kind.' });
    const page = await phone(t, await someone(), `/personas/${id}`);
    await press(page, 'New version');
    await page.getByRole('heading', { name: 'New version' }).waitFor();
    await type(page, 'System prompt', 'Be quick.');
    await press(page, 'Add');
    await audited(page, 'personas.create');
    await choose(page, 'Compare with', 'twice@1');
    await page.locator('.versions .is-new', { hasText: 'Be quick.' }).waitFor();
    await t.fits(page, 'two versions');
    await press(page, 'Delete persona');
    await dialog(page).getByText('twice@2').waitFor();
    await press(page, 'Delete persona');
    await audited(page, 'personas.delete');
  },

  'providers: one with a model and its price': async (t) => {
    const page = await phone(t, await someone(), '/providers');
    await press(page, 'New provider');
    await dialog(page).waitFor();
    await page.keyboard.type('Sonata');
    await type(page, 'URL', 'https://93.184.216.34/v1');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_providers.create');
    await press(page, 'Add a model: Sonata');
    await dialog(page).waitFor();
    await page.keyboard.type('sonata-2');
    await type(page, 'Input, $ per million tokens', '3');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_models.create');
    await page.locator('tr', { hasText: 'sonata-2' }).getByText('$3.00').waitFor();
    await t.fits(page, 'providers');
  },

  'models: another price, and it becomes the default': async (t) => {
    // The runs of the other tasks have another default.
    const account = await make_account();
    await provider('Rondo', ['rondo-1'], account);
    const page = await phone(t, account, '/providers');
    await press(page, 'Edit: rondo-1');
    await dialog(page).waitFor();
    await press(page, 'Default model', 'Space');
    await type(page, 'Output, $ per million tokens', '12.5');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_models.update');
    await page.locator('.changed .is-new', { hasText: '12.5' }).waitFor();
    await page.getByText('It is the organization’s default.').waitFor();
    await t.fits(page, 'a price that was changed');
  },

  'models: a test shows what a run would fail with': async (t) => {
    await provider('Toccata', ['toccata-1']);
    const page = await phone(t, await someone(), '/providers');
    await press(page, 'Test: toccata-1');
    const verdict = dialog(page).getByText('Runs that need a failed check would fail too.');
    await verdict.waitFor({ timeout: 60000 });
    await dialog(page).getByText('model.unavailable').first().waitFor({ state: 'attached' });
    await t.fits(page, 'a test of a model');
  },

  'models: one goes, then its provider with the others': async (t) => {
    await provider('Fugue', ['fugue-1', 'fugue-2']);
    const page = await phone(t, await someone(), '/providers');
    await press(page, 'Delete: fugue-1');
    await dialog(page).getByText('fail at their next turn').waitFor();
    await press(page, 'Delete');
    await audited(page, 'llm_models.delete');
    await press(page, 'Delete provider: Fugue');
    await dialog(page).getByText('(fugue-2)').waitFor();
    await page.keyboard.type('Fugue');
    await t.fits(page, 'the question before a provider goes');
    await page.keyboard.press('Enter');
    await audited(page, 'llm_providers.delete');
  },

  'webhook tools: one is made, and has a new secret': async (t) => {
    await with_loopback(async () => {
      const page = await phone(t, await someone(), '/tools');
      await press(page, 'New tool');
      await dialog(page).waitFor();
      await page.keyboard.type('find_order');
      await type(page, 'URL', nowhere);
      await page.keyboard.press('Enter');
      await page.locator('.secret').waitFor();
      await t.fits(page, 'a secret');
      await press(page, 'I have saved it');
      await press(page, 'Rotate secret: find_order');
      await dialog(page).getByText('signed with both secrets for 24 hours').waitFor();
      await press(page, 'Rotate secret');
      await page.locator('.secret').waitFor();
    });
  },

  'webhook tools: one is called for a test': async (t) => {
    await with_loopback(async () => {
      await tool('try_order');
      const page = await phone(t, await someone(), '/tools');
      await press(page, 'Try: try_order');
      await press(page, 'Create a persona with only this tool');
      await page.getByRole('region', { name: 'Try it' }).waitFor();
      await type(page, 'Message', '[tool try_order {"n":7}] [say tried]');
      await page.keyboard.press('Control+Enter');
      await page.locator('.try .answer', { hasText: 'tried' }).waitFor();
      await press(page, /^failed\s*try_order/);
      await page.locator('.try .tool-error', { hasText: 'tool.unreachable' }).waitFor();
      await t.fits(page, 'a tool that was tried');
    });
  },

  'webhook tools: one is changed, and goes': async (t) => {
    await with_loopback(async () => {
      await tool('old_order');
      const page = await phone(t, await someone(), '/tools');
      await press(page, 'Edit: old_order');
      await dialog(page).waitFor();
      await type(page, 'Description', 'Finds an old order.');
      await press(page, 'Save');
      await audited(page, 'tools.update');
      await page.locator('.changed .is-new', { hasText: 'an old order' }).waitFor();
      await press(page, 'Delete: old_order');
      await dialog(page).getByText('tool.unknown').waitFor({ state: 'attached' });
      await press(page, 'Delete');
      await audited(page, 'tools.delete');
      await page.locator('tbody tr', { hasText: 'old_order' }).waitFor({ state: 'detached' });
    });
  },

  'tool providers: one is set up and used': async (t) => {
    const page = await phone(t, await make_account(), '/tool-providers');
    await press(page, 'Set up: web_search.alpha');
    await dialog(page).waitFor();
    await page.keyboard.type('tvly-0123456789');
    await page.keyboard.press('Enter');
    await audited(page, 'tool_providers.credential_set');
    await press(page, 'Activate: web_search.alpha');
    await page.getByText('The organization activated it').waitFor();
    await t.fits(page, 'tool providers');
  },

  'tool providers: why one is used, and what is used when it goes': async (t) => {
    const account = await someone();
    const { token } = account;
    const path = '/v1/tool-providers/web_search/web_search.alpha';
    const query = '?scope=org';
    await must('PUT', `${path}/credential${query}`, { api_key: 'tvly-0123456789' }, { token });
    await must('PUT', `${path}/activate${query}`, undefined, { token });
    const page = await phone(t, account, '/tool-providers');
    const used = page
      .getByRole('region', { name: 'Provider in use' })
      .locator('tr', { hasText: 'web_search' });
    await used.getByText('The organization activated it').waitFor();
    await press(page, 'Delete key: web_search.alpha');
    await dialog(page).getByText('The tool fails while the provider stays active').waitFor();
    await press(page, 'Delete key');
    await audited(page, 'tool_providers.credential_deleted');
    await used.getByText('not set up').waitFor();
    await press(page, 'Deactivate: web_search.alpha');
    await used.getByText('No provider is activated').waitFor();
    await t.fits(page, 'why a provider is used');
  },

  'MCP servers: what changed is looked at and approved': async (t) => {
    const peer = await start_mcp_peer();
    await with_loopback(async () => {
      const page = await phone(t, await someone(), '/mcp-servers');
      await press(page, 'New server');
      await dialog(page).waitFor();
      await page.keyboard.type('office');
      await type(page, 'URL', peer.url);
      await page.keyboard.press('Enter');
      await audited(page, 'mcp_servers.create');
      await page.locator('tr', { hasText: 'office__clock' }).getByText('approved').waitFor();
      peer.tools = [{ ...peer.tools[0], description: 'Tells the time, and all secrets.' }];
      await page.locator('main').focus();
      await press(page, 'Reload tools');
      await page.locator('.to-approve .is-new', { hasText: 'all secrets' }).waitFor();
      await t.fits(page, 'a tool that changed');
      await press(page, 'Approve: office__clock');
      await audited(page, 'mcp_servers.approve');
      await page.locator('.to-approve').waitFor({ state: 'detached' });
    });
    peer.close();
  },

  'MCP servers: one that cannot be listed says why': async (t) => {
    await with_loopback(async () => {
      const page = await phone(t, await someone(), '/mcp-servers');
      await press(page, 'New server');
      await dialog(page).waitFor();
      await page.keyboard.type('broken');
      await type(page, 'URL', 'http://127.0.0.1:9/mcp');
      await page.keyboard.press('Enter');
      await page.locator('.error', { hasText: 'tool.unreachable' }).waitFor();
      await page.getByText('No tools are known yet.').waitFor();
      await t.fits(page, 'a listing that failed');
    });
  },

  'MCP servers: nobody is asked before a call, and it goes': async (t) => {
    const peer = await start_mcp_peer({ tools: [{ ...clock_tool, name: 'watch' }] });
    await with_loopback(async () => {
      const account = await someone();
      const { id } = await made('/v1/mcp-servers', { key: 'tower', url: peer.url });
      const { token } = account;
      await until(async () => {
        const path = `/v1/mcp-servers/${id}?scope=org`;
        return (await must('GET', path, undefined, { token })).listing.state === 'ok';
      }, 'its tools are listed');
      const page = await phone(t, account, `/mcp-servers/${id}`);
      await press(page, 'Edit');
      await dialog(page).waitFor();
      await choose(page, 'Before a call', 'do n');
      await press(page, 'Save');
      await page.locator('.changed .is-new', { hasText: 'run' }).waitFor();
      await press(page, 'Delete server');
      await dialog(page).getByText('its tools and their approvals').waitFor();
      await page.keyboard.type('tower');
      await page.keyboard.press('Enter');
      await audited(page, 'mcp_servers.delete');
      await t.fits(page, 'MCP servers');
    });
    peer.close();
  },
};
