// Runs: the list and its filters, one run's views, metadata, replay; and every curl command of
// these screens.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';

import { base, settled } from '../harness.mjs';
import {
  answers_on_one_line,
  events_of,
  final_text,
  new_thread,
  newest_run,
  one_line,
  send,
  staged,
} from '../chat_steps.mjs';

async function begin_run(h, user, content, { thread = {}, run = {} } = {}) {
  const made = await h.call('POST', '/v1/threads', thread, user.token);
  await h.call('POST', `/v1/threads/${made.id}/messages`, { content }, user.token);
  const { run_id } = await h.call('POST', `/v1/threads/${made.id}/runs`, run, user.token);
  await final_text(h, user, made.id);
  return run_id;
}

// Result of a console's command in a shell.
function execute(command, user) {
  const environment = {
    PATH: process.env.PATH,
    HOSTLER_URL: base,
    HOSTLER_TOKEN: user.token,
    HOSTLER_PASSWORD: user.password,
    CURL_CA_BUNDLE: process.env.CA_CERT,
  };
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['-c', command.replace('curl ', 'curl --max-time 20 -w "\\n%{http_code}" ')],
      { env: environment, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        const [, body, status] = /^(.*)\n(\d{3})$/s.exec(stdout) ?? [];
        resolve({ status: Number(status), body, stderr: error ? stderr : '' });
      },
    );
  });
}

async function curl_commands(page) {
  await page.getByRole('button', { name: 'curl' }).click();
  await page.locator('dialog pre').first().waitFor();
  const commands = await page.locator('dialog pre').allTextContents();
  await page.keyboard.press('Escape');
  return commands.filter((command) => command.startsWith('curl'));
}

const open = (page, path) => page.goto(`${base}/console/#${path}`);
const rows = (page) => page.locator('main tbody tr');

export const flows = staged([
  [
    'runs are filtered by status, end user and metadata, and the address says so',
    async (h) => {
      const user = await h.new_user();
      await begin_run(h, user, '[say a]', {
        thread: { end_user: 'eva & co' },
        run: { metadata: { 'ti=ck&et': '4711' } },
      });
      await begin_run(h, user, '[status 400]', { run: { metadata: { 'ti=ck&et': '4712' } } });
      await begin_run(h, user, '[say b]');
      const page = await h.signed_in(user, '/runs');
      await rows(page).nth(2).waitFor();
      await page.getByLabel('Status').selectOption('failed');
      await h.eventually(async () => (await rows(page).count()) === 1, 'one has failed');
      assert.match(page.url(), /status=failed/);
      await page.reload();
      await h.eventually(
        async () => (await rows(page).count()) === 1,
        'one has failed, after a reload',
      );
      await page.getByRole('button', { name: 'Clear' }).click();
      await rows(page).nth(2).waitFor();
      await page.getByLabel('End user').fill('eva & co');
      await page.keyboard.press('Enter');
      await h.eventually(async () => (await rows(page).count()) === 1, 'one is of the end user');
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByLabel('Metadata key').fill('ti=ck&et');
      await page.getByLabel('Metadata value').fill('4712');
      await page.getByRole('button', { name: 'Apply' }).click();
      await h.eventually(
        async () =>
          (await rows(page).count()) === 1 && (await rows(page).innerText()).includes('4712'),
        'one has the metadata',
      );
    },
  ],

  [
    'a run shows its timeline, events and replay',
    async (h) => {
      const user = await h.new_user();
      const run_id = await begin_run(
        h,
        user,
        '[usage in=1500 out=80] [think hm] [say first] [tools web_search {"query":"a"} | ' +
          'web_search {"query":"b"}] [usage in=2100 out=40] [delay 20] [say second] [words 20]',
      );
      const page = await h.signed_in(user, `/runs/${run_id}`);
      // It is drawn as the events come.
      await h.eventually(async () => {
        const steps = await page.locator('.timeline tbody th').allInnerTexts();
        const named = steps
          .filter((step) => !/Queued/.test(step))
          .map((step) => step.split(/\s+(?=failed)/)[0].trim());
        return named.join() === 'Turn 1: model,web_search,web_search,Turn 2: model';
      }, 'the steps of both turns');
      const run = await h.call('GET', `/v1/runs/${run_id}`, undefined, user.token);
      const facts = await page.locator('.facts').innerText();
      assert.ok(
        facts.includes(run.trace_id) &&
          facts.includes(run.total_input_tokens.toLocaleString('en-GB')),
        facts,
      );
      await h.eventually(async () => {
        const took = await page.locator('.timeline tbody .tokens').allInnerTexts();
        return took.filter((text) => text).join() === '1,500 + 80,2,100 + 40';
      }, 'what each turn took');
      const whole = await page.locator('.timeline tfoot').innerText();
      const figures = [run.total_input_tokens, run.total_output_tokens, run.credits_used];
      assert.ok(
        figures.every((figure) => whole.includes(figure.toLocaleString('en-GB'))),
        whole,
      );
      const before = page.viewportSize();
      for (const width of [360, 761, 800, 1000]) {
        await page.setViewportSize({ width, height: 800 });
        await h.t.fits(page, `a timeline at ${width}`);
      }
      await page.setViewportSize(before);
      await page.getByRole('link', { name: 'Events' }).click();
      const events = await events_of(h, user, run_id);
      await page.getByText(`${events.length} events`).waitFor();
      assert.equal(await page.locator('.events > li').count(), Math.min(200, events.length));
      await page.getByLabel('Type').selectOption('tool.call');
      await h.eventually(
        async () => (await page.locator('.events > li').count()) === 2,
        'two calls',
      );
      await page.locator('.events summary').first().click();
      assert.deepEqual(
        JSON.parse(await page.locator('.events pre').innerText()),
        events.find(({ type }) => type === 'tool.call'),
      );
      await page.getByRole('link', { name: 'Replay' }).click();
      await page.getByLabel('Speed').selectOption('64');
      await page.getByRole('button', { name: 'Play' }).click();
      await page.getByText(`${events.length} / ${events.length}`).waitFor();
      const deltas = events.filter(({ type, data }) => type === 'message.delta' && !data.channel);
      const text = deltas.map(({ data }) => data.content).join('');
      assert.equal(await answers_on_one_line(page), one_line(text));
      await page.getByLabel('Position', { exact: true }).fill('2');
      await page.getByText(`2 / ${events.length}`).waitFor();
      assert.equal(await page.locator('.answer').count(), 0);
    },
  ],

  [
    'a live run grows while it is looked at, and is stopped there',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[delay 30] [say begun] [words 2000]');
      await page.locator('.answer').filter({ hasText: 'begun' }).waitFor();
      const { run_id } = await newest_run(h, user, thread_id);
      await open(page, `/runs/${run_id}?tab=story`);
      const answer = page.locator('.answer');
      await answer.filter({ hasText: 'begun' }).waitFor();
      const early = (await answer.textContent()).length;
      await h.eventually(async () => (await answer.textContent()).length > early, 'it grows');
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.locator('.facts').filter({ hasText: 'cancelled' }).waitFor();
    },
  ],

  [
    'metadata of a run is changed, and what is no JSON is not sent',
    async (h) => {
      const user = await h.new_user();
      const run_id = await begin_run(h, user, '[say a]', { run: { metadata: { ticket: '1' } } });
      const page = await h.signed_in(user, `/runs/${run_id}`);
      await page.getByRole('button', { name: 'Edit metadata' }).click();
      const field = page.getByRole('textbox', { name: 'Metadata' });
      await field.fill('{"ticket": ');
      assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
      h.t.allow(422);
      await field.fill('{"ticket": 7}');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.error').filter({ hasText: 'validation.error' }).waitFor();
      await field.fill('{"ticket": "7"}');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('.metadata .mark').filter({ hasText: 'ticket=7' }).waitFor();
      const run = await h.call('GET', `/v1/runs/${run_id}`, undefined, user.token);
      assert.deepEqual(run.metadata, { ticket: '7' });
    },
  ],

  [
    'every curl command of these screens answers what the screen shows',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, 'it\'s "quoted" & $HOME `pwd` [say the answer]');
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      const { run_id } = await newest_run(h, user, thread_id);
      const expected = [
        [
          `/threads/${thread_id}`,
          [
            ['/messages?', 'the answer'],
            [`/v1/threads/${thread_id}`, 'A thread'],
          ],
        ],
        ['/runs?status=completed', [['/v1/runs?', run_id]]],
        [
          `/runs/${run_id}?tab=events`,
          [
            [`/v1/runs/${run_id}`, '"status":"completed"'],
            ['/events', 'run.completed'],
          ],
        ],
        ['/inbox', [['waiting_for_input', '[]']]],
      ];
      for (const [path, answers] of expected) {
        if (!path.startsWith('/threads')) {
          await open(page, path);
          await page.locator('main h1').waitFor();
          await settled(page);
        }
        const commands = await curl_commands(page);
        assert.ok(commands.length > 0, path);
        const outputs = [];
        for (const command of commands) {
          const { status, body, stderr } = await execute(command, user);
          assert.ok(status >= 200 && status < 300, `${command}\n${status} ${body} ${stderr}`);
          outputs.push([command, body]);
        }
        for (const [part, text] of answers) {
          const found = outputs.find(
            ([command, body]) => command.includes(part) && body.includes(text),
          );
          assert.ok(
            found,
            `${path}: no command with ${part} answers ${text}: ${commands.join('\n')}`,
          );
        }
      }
      const messages = await h.call(
        'GET',
        `/v1/threads/${thread_id}/messages`,
        undefined,
        user.token,
      );
      assert.equal(
        messages.filter(({ role }) => role === 'user').length,
        1,
        'a repeated key stores nothing twice',
      );
    },
  ],
]);
