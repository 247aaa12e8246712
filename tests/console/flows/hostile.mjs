// Text that would do harm or take long, in every field that a user or a model can fill; and
// screens of 360 px and 4K.
import assert from 'node:assert/strict';

import { base } from '../harness.mjs';
import {
  composer,
  final_text,
  give_further,
  new_thread,
  send,
  staged,
  weather_tool,
} from '../chat_steps.mjs';

const script = '<script>alert(1)</script><img src=x onerror=alert(2)>';
const rtl = 'שלום עולם مرحبا';
const word = 'w'.repeat(4096);

// Code that ran, or could: nodes that text became.
const foreign_nodes = (page) =>
  page.evaluate(
    () =>
      document.querySelectorAll(
        'main :is(script, img, iframe, [onerror], [href^="javascript"], [href^="data"])',
      ).length,
  );

const count_long_tasks = (page) =>
  page.evaluate(() => {
    globalThis.long_tasks = [];
    new PerformanceObserver((list) =>
      globalThis.long_tasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))),
    ).observe({ type: 'longtask' });
  });

// A run that has hostile text wherever a field takes it, and waits for the result of a call.
async function hostile_thread(h, user) {
  const marks = {
    end_user: `${script.slice(0, 90)} ${rtl}`,
    metadata: { [script.slice(0, 60)]: `${script} ${rtl} ${word.slice(0, 400)}` },
  };
  const thread = await h.call(
    'POST',
    '/v1/threads',
    { title: `${script} ${rtl} ${word.slice(0, 100)}`, ...marks },
    user.token,
  );
  const links = '\\[x\\](javascript:alert(3)) <a href="javascript:alert(4)">y</a>';
  const said = `${script} **${rtl}** ${word} ${links}`;
  const given = JSON.stringify({
    city: `${script} ${rtl} \u202e\u200b`,
    further: word.slice(0, 2000),
  });
  const turn = `[think ${script} ${rtl}] [delay 0] [say ${said}] [tool get_weather ${given}]`;
  const content = `${script} ${rtl} ${word} ${turn}`;
  await h.call('POST', `/v1/threads/${thread.id}/messages`, { content }, user.token);
  const run = await h.call(
    'POST',
    `/v1/threads/${thread.id}/runs`,
    { tools: [weather_tool], metadata: marks.metadata },
    user.token,
  );
  await h.eventually(async () => {
    const { status } = await h.call('GET', `/v1/runs/${run.run_id}`, undefined, user.token);
    return status === 'waiting_for_input';
  }, 'the run waits');
  await hostile_question(h, user, thread.title);
  return { thread_id: thread.id, run_id: run.run_id };
}

// A second run that waits: the model's question, and a call of a tool that nobody has.
async function hostile_question(h, user, title) {
  const thread = await h.call('POST', '/v1/threads', { title }, user.token);
  const call = `[delay 0] [tool ${word.slice(0, 64)} {"a":"${rtl}"}]`;
  const content = `${call} [delay 0] [ask ${script} **${rtl}** ${word}]`;
  await h.call('POST', `/v1/threads/${thread.id}/messages`, { content }, user.token);
  const { run_id } = await h.call('POST', `/v1/threads/${thread.id}/runs`, {}, user.token);
  await h.eventually(async () => {
    const { status } = await h.call('GET', `/v1/runs/${run_id}`, undefined, user.token);
    return status === 'waiting_for_input';
  }, 'the question');
}

async function screens_of(h, page, { thread_id, run_id }, look) {
  await page.goto(`${base}/console/#/threads/${thread_id}`);
  await page.locator('.wait').waitFor();
  await page.locator('.thinking summary').click();
  await page.locator('.tool summary').click();
  await look('the chat');
  for (const [path, waits_for] of [
    ['/inbox', '.inbox-item + .inbox-item'],
    ['/runs', 'table'],
    [`/runs/${run_id}`, '.timeline'],
    [`/runs/${run_id}?tab=story`, '.answer'],
    [`/runs/${run_id}?tab=events`, '.events li'],
    [`/runs/${run_id}?tab=replay`, '.replay'],
    ['/threads', '.threads li'],
    ['/threads/new', '.composer'],
  ]) {
    await page.goto(`${base}/console/#${path}`);
    await page.locator(`main ${waits_for}`).first().waitFor();
    await look(path);
    if (path !== '/inbox') continue;
    await page.locator('.inbox-head').last().click();
    await page.locator('.wait').filter({ hasText: script }).waitFor();
    await look('a question in the inbox');
  }
}

// These have bounds in time: nothing runs beside them.
export const alone = [
  'an answer of 4 MiB is shown whole, live and again, in short tasks',
  'no long task at 50 tokens a second',
];

export const flows = staged([
  [
    'no text of a user or a model runs, on any screen',
    async (h) => {
      const user = await h.new_user();
      const made = await hostile_thread(h, user);
      const page = await h.signed_in(user, '/threads');
      await screens_of(h, page, made, async (name) =>
        assert.equal(await foreign_nodes(page), 0, name),
      );
    },
  ],

  [
    'every screen fits 360 px and 4K, with absurd text too',
    async (h) => {
      const user = await h.new_user();
      const made = await hostile_thread(h, user);
      for (const [width, height] of [
        [360, 740],
        [3840, 2160],
      ]) {
        const page = await h.signed_in(user, '/threads', { width, height });
        await screens_of(h, page, made, (name) => h.t.fits(page, name));
      }
    },
  ],

  [
    'axe finds nothing serious on any screen, light and dark',
    async (h) => {
      const user = await h.new_user();
      const made = await hostile_thread(h, user);
      for (const scheme of ['light', 'dark']) {
        const page = await h.signed_in(user, '/threads', { scheme });
        await screens_of(h, page, made, (name) => h.t.axe(page, `${scheme} ${name}`));
      }
    },
  ],

  [
    'Markdown is drawn, its links are of the web alone, its code is copied',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(
        page,
        '[say # Head\\n\\nSome **bold** and \\[link\\](https://example.org/a) and ' +
          '\\[bad\\](javascript:alert(1))\\n\\n' +
          '- one\\n- two\\n\\n```js\\nlet a = "<b>";\\n```\\n\\n' +
          '| a | b |\\n|---|--:|\\n| 1 | 2 |]',
      );
      const answer = page.locator('.answer');
      await answer.locator('table td').nth(1).waitFor();
      assert.equal(await answer.getByRole('heading').innerText(), 'Head');
      assert.equal(await answer.locator('li').count(), 2);
      const links = await answer
        .locator('a')
        .evaluateAll((nodes) => nodes.map((node) => [node.href, node.rel]));
      assert.deepEqual(links, [['https://example.org/a', 'noopener noreferrer nofollow']]);
      await answer.getByRole('button', { name: 'Copy' }).click();
      await h.eventually(
        async () =>
          (await page.evaluate(() => navigator.clipboard.readText())) === 'let a = "<b>";\n',
        'the code is copied',
      );
      await page.getByRole('button', { name: 'Copy: the answer' }).click();
      const copied = () => page.evaluate(() => navigator.clipboard.readText());
      await h.eventually(
        async () => /^# Head\n\nSome \*\*bold/.test(await copied()),
        'the answer is copied as it was written',
      );
    },
  ],

  [
    'text from right to left stands so, and does not turn what is ours',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, `${rtl} [say ${rtl}]`);
      const answer = page.locator('.answer p');
      await answer.filter({ hasText: rtl }).waitFor();
      const direction = (locator) => locator.evaluate((node) => getComputedStyle(node).direction);
      assert.equal(await direction(answer), 'rtl');
      assert.equal(await direction(page.locator('.said')), 'rtl');
      assert.equal(await direction(page.locator('.run footer')), 'ltr');
    },
  ],

  [
    'what stands in arguments is what is seen: directions and unseen characters are escapes',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await give_further(page, { 'Function tools (JSON)': [weather_tool] });
      await send(page, '[tool get_weather {"city":"a\u202eb\u200bc"}]');
      await page.locator('.owed pre').filter({ hasText: 'a\\u202eb\\u200bc' }).waitFor();
    },
  ],

  [
    'an answer of 4 MiB is shown whole, live and again, in short tasks',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      // Looked at seldom: to read so much text is a long task itself.
      const shows_all = () =>
        page.waitForFunction(
          () =>
            [...document.querySelectorAll('.answer .md-group')].reduce(
              (sum, group) => sum + group.textContent.length,
              0,
            ) === 4_194_304,
          null,
          { polling: 2000, timeout: 60_000 },
        );
      await count_long_tasks(page);
      await send(page, `${'[long-line 1000000] '.repeat(4)}[long-line 194304]`);
      await page.locator('.answer').waitFor();
      const stored = await final_text(h, user, thread_id);
      assert.equal(stored.length, 4_194_304);
      await page.waitForTimeout(4000);
      const live = await page.evaluate(() => globalThis.long_tasks);
      await shows_all();
      await page.reload();
      await page.locator('.answer').waitFor();
      await count_long_tasks(page);
      await page.waitForTimeout(5000);
      const again = await page.evaluate(() => globalThis.long_tasks);
      await shows_all();
      const sum = (durations) => durations.reduce((total, duration) => total + duration, 0);
      assert.ok(
        Math.max(0, ...live, ...again) < 400 && sum(live) + sum(again) < 3000,
        `long tasks: ${live}; ${again}`,
      );
    },
  ],

  [
    'no long task at 50 tokens a second',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      const text = 'The **quick** fox `jumps`, and\\n\\n- one\\n- two\\n\\n'.repeat(25);
      await count_long_tasks(page);
      const tasks = [];
      // Our own effects come every time; the machine's do not.
      for (let tries = 0; tries < 3 && (tries === 0 || tasks.at(-1).length > 0); ++tries) {
        await send(page, `[delay 20] [say ${text}]`);
        await page.locator('article.run').nth(tries).locator('.answer li').first().waitFor();
        await page.evaluate(() => globalThis.long_tasks.splice(0));
        await page.getByRole('button', { name: 'Regenerate answer' }).waitFor({ timeout: 30_000 });
        tasks.push(await page.evaluate(() => globalThis.long_tasks));
      }
      assert.ok(
        tasks.some((found) => found.length === 0),
        `long tasks: ${tasks.join(' | ')}`,
      );
    },
  ],

  [
    'a message that is too long says so before it is sent',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await composer(page).fill('ü'.repeat(32_769));
      await page.getByText('At most 65,536 bytes.').waitFor();
      assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
      await composer(page).fill('ü'.repeat(32_768));
      assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isEnabled());
    },
  ],

  [
    'Enter that ends the choice of a character sends nothing',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await composer(page).fill('ni');
      await composer(page).evaluate((field) =>
        field.dispatchEvent(
          new KeyboardEvent('keydown', {
            key: 'Enter',
            isComposing: true,
            bubbles: true,
            cancelable: true,
          }),
        ),
      );
      await composer(page).press('Shift+Enter');
      assert.equal(await composer(page).inputValue(), 'ni\n');
      const messages = await h.call(
        'GET',
        `/v1/threads/${thread_id}/messages`,
        undefined,
        user.token,
      );
      assert.deepEqual(messages, []);
    },
  ],

  [
    'all of a conversation at 360 px',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/threads', { width: 360, height: 740 });
      await page.getByRole('link', { name: 'New thread' }).click();
      await send(page, '[ask Which one?] [say that one then]');
      await page.locator('.wait textarea').fill('The second.');
      await page.getByRole('button', { name: 'Answer', exact: true }).click();
      await page.locator('.answer').filter({ hasText: 'that one then' }).waitFor();
      await h.t.fits(page, 'the chat');
      await page.getByRole('link', { name: 'Threads', exact: true }).first().click();
      await page.locator('.threads li a').click();
      await page.locator('.answer').filter({ hasText: 'that one then' }).waitFor();
    },
  ],

  [
    'the console speaks Chinese',
    async (h) => {
      const user = await h.new_user();
      const page = await h.t.page({ locale: 'zh-CN' });
      await page.goto(`${base}/console/#/threads/new`);
      await page.locator('input').first().fill(user.login);
      await page.locator('input[type=password]').fill(user.password);
      await page.keyboard.press('Enter');
      await page.getByRole('textbox', { name: '消息', exact: true }).fill('[say 你好]');
      await page.keyboard.press('Enter');
      await page.locator('.answer').filter({ hasText: '你好' }).waitFor();
      await page.getByRole('button', { name: '重新生成回答' }).waitFor();
      const text = await page.locator('main').innerText();
      assert.doesNotMatch(text, /\b(chat|runs|inbox)\.[a-z_]+/, 'a key without words');
    },
  ],
]);
