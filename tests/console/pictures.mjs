// Draws the pictures of docs/console.md again, from a stack that was filled for it. Called by
// `make console-pictures`. Each is at most 150 KiB.
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import {
  admin_token,
  check,
  Flow,
  mail_with,
  make_account,
  make_run,
  must,
  settled,
  start_browser,
  stop_browser,
  until,
} from './harness.mjs';
import { start_model } from './pictures_model.mjs';

const folder = 'docs/console';
const bytes_max = 150 * 1024;
const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };

mkdirSync(folder, { recursive: true });
await start_browser();
const flow = new Flow();

async function picture(page, name) {
  const path = `${folder}/${name}.png`;
  await settled(page);
  await page.evaluate(() => document.activeElement?.blur());
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
  const { size } = statSync(path);
  check(size <= bytes_max, `${path} has ${size} bytes`);
  console.log(`${path} ${(size / 1024).toFixed(0)} KiB`);
}

// ------------------------------------------------ what the screens show

const model = await start_model();
const admin = { token: await admin_token() };
const provider = await must(
  'POST',
  '/v1/llm-providers?scope=platform',
  { name: 'Sonata', provider_kind: 'openai', base_url: model.url },
  admin,
);
await must(
  'POST',
  `/v1/llm-providers/${provider.id}/models?scope=platform`,
  { model: 'sonata-2', is_default: true, input_usd_per_mtok: 3, output_usd_per_mtok: 15 },
  admin,
);

const login = 'ada';
const account = await make_account(login);
const { token } = account;
const [, proof] = await mail_with(account.email, /#\/verify\?token=([\w-]+)/);
await must('POST', '/v1/auth/email/verify/confirm', { token: proof });
await must('PATCH', '/v1/me', { username: 'Ada Lovelace' }, { token });
await must('POST', '/v1/api-keys', { name: 'production' }, { token });
const staging = { name: 'staging', scopes: ['data.threads.read', 'data.runs.read'] };
await must('POST', '/v1/api-keys', staging, { token });

await must(
  'POST',
  '/v1/personas?scope=org',
  {
    persona_key: 'support',
    version: '1',
    display_name: 'Support',
    description: 'Answers customers.',
    system_prompt: 'You help customers.',
    tools: [],
    confirm_tools: ['refund'],
  },
  { token },
);

const refund = {
  type: 'function',
  name: 'refund',
  description: 'Pays an order back.',
  parameters: {
    type: 'object',
    properties: { order: { type: 'string' }, amount_eur: { type: 'number' } },
    required: ['order', 'amount_eur'],
  },
};
for (const [at, question] of [
  'Which plans are there?',
  'The invoice of October is missing',
  'Cancel my subscription',
  'A damaged parcel',
].entries()) {
  await make_run(token, question, {
    thread: { title: question, end_user: `customer-${at + 10}` },
    run: { metadata: { channel: at % 2 ? 'mail' : 'web' } },
  });
}

// A thread whose answer is Markdown, and one whose run waits for an approval.
async function thread_with(title, messages, run, end_user) {
  const thread = await must('POST', '/v1/threads', { title, end_user }, { token });
  let run_id = '';
  for (const content of messages) {
    await must('POST', `/v1/threads/${thread.id}/messages`, { content }, { token });
    ({ run_id } = await must('POST', `/v1/threads/${thread.id}/runs`, run, { token }));
    await until(async () => {
      const { status } = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
      return status !== 'running';
    }, 'the end of a run');
  }
  return { thread_id: thread.id, run_id };
}

const told = await thread_with(
  'Where is order A-1047?',
  ['Where is my order A-1047?'],
  { metadata: { channel: 'web' } },
  'customer-12',
);
const waiting = await thread_with(
  'Refund for a broken lamp',
  ['The lamp of my order came broken.'],
  { persona_id: 'support@1', tools: [refund], metadata: { channel: 'web' } },
  'customer-15',
);

// ------------------------------------------------ the pictures

async function signed_in(options) {
  const page = await flow.page(options);
  await flow.sign_in(page, account, '/account');
  await settled(page);
  return page;
}

const light = await signed_in(wide);
const dark = await signed_in({ ...wide, scheme: 'dark' });
const phone = await signed_in(narrow);

const draw = async (page, path, name) => {
  await flow.open(page, path);
  await picture(page, name);
};
await draw(light, `/threads/${told.thread_id}`, 'chat');
await draw(dark, `/threads/${waiting.thread_id}`, 'approval');
await draw(light, `/runs/${told.run_id}`, 'run');
await draw(light, '/inbox', 'inbox');
await draw(dark, '/usage', 'usage');
await draw(phone, `/threads/${waiting.thread_id}`, 'phone');

await flow.open(light, '/runs');
await settled(light);
await light.keyboard.press('Control+k');
await light.locator('dialog[open]').waitFor();
await picture(light, 'palette');
await light.keyboard.press('Escape');
await light.getByRole('button', { name: 'curl', exact: true }).click();
await light.locator('dialog[open]').waitFor();
await picture(light, 'curl');

await flow.end();
await stop_browser();
model.close();

// Pictures under "From an empty platform" are drawn in a stack of their own.
const whole = spawnSync('dev/stack/with-stack', [process.execPath, 'tests/console/whole.mjs'], {
  env: { ...process.env, MODEL: 'none', PICTURES: folder },
  encoding: 'utf8',
});
console.log(whole.stdout + whole.stderr);
if (whole.status !== 0) flow.faults.push('whole.mjs failed');
console.log(flow.faults.join('\n'));
process.exitCode = flow.faults.length ? 1 : 0;
