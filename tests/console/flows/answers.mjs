// Answers as they are read: where a thread opens, what an answer cost, its steps after a reload,
// code, formulas and wide tables.
import assert from 'node:assert/strict';

import { composer, final_text, new_thread, open_thread, send, staged } from '../chat_steps.mjs';
import { must, settled } from '../harness.mjs';

// Text for a script of the model, which takes it as it is.
const said = (text) => `[say ${text.replace(/[\\\][]/g, '\\$&').replaceAll('\n', '\\n')}]`;
const distance_to_end = (page) =>
  page
    .locator('.pane')
    .evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
const is_at_end = (h, page, what) =>
  h.eventually(async () => (await distance_to_end(page)) <= 2, what);

const lines = Array.from({ length: 80 }, (none, at) => `- line ${at} of the answer`).join('\n');
const text_with_everything = [
  'A function:\n\n```js\n// adds\nconst add = (a, b) => a + b + 42;\nconst word = "text";\n```\n',
  'Euler: $e^{i\\pi} + 1 = 0$, and it costs $5 or $6.\n',
  '$$\n\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}\n$$\n',
  `| ${Array.from({ length: 14 }, (none, at) => `column ${at}`).join(' | ')} |`,
  `|${' --- |'.repeat(14)}`,
  `| ${Array.from({ length: 14 }, (none, at) => `some value ${at}`).join(' | ')} |\n`,
  'The end.',
].join('\n');

export const flows = staged([
  [
    'a thread opens at its newest message, and what is sent is seen',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user, { width: 1280, height: 700 });
      await send(page, `[delay 0] ${said(`${text_with_everything}\n\n${lines}`)}`);
      await page.locator('.answer').filter({ hasText: 'line 79' }).waitFor();
      await is_at_end(h, page, 'the end of the answer is seen');
      await page.reload();
      await page.locator('.answer').filter({ hasText: 'line 79' }).waitFor();
      await is_at_end(h, page, 'the thread opens at its end');
      // The reader goes up, and stays there until something is sent.
      await page.locator('.pane').evaluate((box) => (box.scrollTop = 0));
      await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
      await send(page, '[say short]');
      await is_at_end(h, page, 'what was sent is seen');
      await page.locator('.said').last().isVisible();
      await page.locator('.answer').filter({ hasText: 'short' }).waitFor();
      // What grows without being drawn again moves the end.
      await composer(page).fill(lines);
      await is_at_end(h, page, 'a composer that grows hides nothing');
      await final_text(h, user, thread_id);
    },
  ],

  [
    'an answer has its model, tokens, cost and duration below it, also after a reload',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[say hello]');
      const figures = page.locator('article.run .figures.is-read');
      await figures.waitFor();
      const [{ run_id }] = await must('GET', `/v1/threads/${thread_id}/runs`, undefined, user);
      const run = await must('GET', `/v1/runs/${run_id}`, undefined, user);
      const look = async () => {
        const text = await figures.textContent();
        assert.ok(text.includes(run.model), text);
        assert.match(text, /[1-9][\d,]* tokens in, [1-9][\d,]* out/);
        assert.match(text, /\$\d/);
        assert.match(text, /\d (ms|s)$/);
      };
      await look();
      await page.reload();
      await figures.waitFor();
      await look();
    },
  ],

  [
    'reasoning and tool calls are there after a reload, folded',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[think a first thought] [tool web_search {"query":"x"}] [say found]');
      await page.locator('.answer').filter({ hasText: 'found' }).waitFor();
      await final_text(h, user, thread_id);
      await page.reload();
      await page.locator('details.thinking:not([open])').waitFor();
      await page.locator('details.tool:not([open])').filter({ hasText: 'web_search' }).waitFor();
      await page.locator('.answer').filter({ hasText: 'found' }).waitFor();
      await page.locator('.thinking summary').click();
      await page.locator('.thinking').filter({ hasText: 'a first thought' }).waitFor();
      assert.equal(await page.locator('.answer').count(), 1);
    },
  ],

  [
    'steps that cannot be read are asked for by a button',
    async (h) => {
      h.t.allow(410);
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[think a first thought] [say kept]');
      await page.locator('.answer').filter({ hasText: 'kept' }).waitFor();
      await final_text(h, user, thread_id);
      const problem = { code: 'runs.events_expired', title: 'The events are gone', status: 410 };
      await page.route('**/events?*', (route) =>
        route.fulfill({
          status: 410,
          contentType: 'application/problem+json',
          body: JSON.stringify(problem),
        }),
      );
      await page.reload();
      await page.locator('.answer').filter({ hasText: 'kept' }).waitFor();
      const button = page.getByRole('button', { name: 'Show steps' });
      await button.waitFor();
      assert.equal(await page.locator('.error').count(), 0);
      await button.click();
      await page.locator('.error').filter({ hasText: 'The events are gone' }).waitFor();
    },
  ],

  [
    'code is in colours, formulas are set, and a wide table scrolls alone at 360 px',
    async (h) => {
      const user = await h.new_user();
      const size = { width: 360, height: 740, scheme: 'dark' };
      const { page } = await new_thread(h, user, size);
      await send(page, `[delay 0] ${said(text_with_everything)}`);
      const answer = page.locator('.answer');
      await answer.filter({ hasText: 'The end.' }).waitFor();
      await answer.locator('.md-table').scrollIntoViewIfNeeded();
      const [whole, shown] = await answer
        .locator('.md-table')
        .evaluate((box) => [box.scrollWidth, box.clientWidth]);
      assert.ok(whole > shown, 'the table is wider than the screen');
      await answer.locator('pre').scrollIntoViewIfNeeded();
      await answer.locator('.code-comment').filter({ hasText: '// adds' }).waitFor();
      await answer.locator('.code-string').filter({ hasText: '"text"' }).waitFor();
      await answer.locator('.code-keyword').first().waitFor();
      await h.eventually(
        async () => (await answer.locator('.math math').count()) === 2,
        'both formulas are set',
      );
      await answer.locator('.math.is-display math mfrac').waitFor();
      assert.ok((await answer.innerText()).includes('it costs $5 or $6.'));
      await settled(page);
      await h.t.fits(page, 'an answer with everything');
      await h.t.axe(page, 'an answer with everything');
    },
  ],

  [
    'the head of a thread stays one line at 360 px',
    async (h) => {
      const user = await h.new_user();
      const made = {
        title: 'A title that is much longer than any telephone is wide, and goes on',
        end_user: 'customer-8123-with-a-long-name@example.org',
        is_private: true,
      };
      const thread = await h.call('POST', '/v1/threads', made, user.token);
      const page = await open_thread(h, user, thread.id, { width: 360, height: 740 });
      const bar = page.locator('.chat-bar');
      const { height } = await bar.boundingBox();
      assert.ok(height < 48, `the head is ${height} px high`);
      for (const name of ['Rename', 'Delete']) {
        const box = await bar.getByRole('button', { name }).boundingBox();
        assert.ok(box.x + box.width <= 360 && box.width >= 24, `${name}: ${JSON.stringify(box)}`);
      }
      const frame = await page.locator('header.top').boundingBox();
      assert.ok(frame.height < 64, `the head of the page is ${frame.height} px high`);
      await h.t.fits(page, 'the head of a thread');
    },
  ],
]);
