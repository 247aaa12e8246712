// Threads and the chat, as a user does them.
import assert from 'node:assert/strict';

import {
  answer_text,
  answers_on_one_line,
  composer,
  final_text,
  new_thread,
  one_line,
  open_thread,
  send,
  staged,
} from '../chat_steps.mjs';
import { must } from '../harness.mjs';

// A thread where another client's run waits for an answer, until `end_first()` gives it one, and
// where a message was sent meanwhile. `stored(content)`: how many such messages there are.
async function busy_thread(h) {
  const user = await h.new_user();
  const { page, thread_id } = await new_thread(h, user);
  const path = `/v1/threads/${thread_id}`;
  const call = (method, where, body) => h.call(method, where, body, user.token);
  await call('POST', `${path}/messages`, { content: '[ask Which one?] [say in front]' });
  const { run_id } = await call('POST', `${path}/runs`, {});
  const has_status = (wanted) => async () =>
    (await call('GET', `/v1/runs/${run_id}`)).status === wanted;
  await h.eventually(has_status('waiting_for_input'), 'the first run waits');
  h.t.allow(409);
  await send(page, '[say behind it]');
  await page.locator('.error').filter({ hasText: 'runs.thread_busy' }).waitFor();
  return {
    page,
    async end_first() {
      await call('POST', `/v1/runs/${run_id}/input`, { content: 'that one' });
      await h.eventually(has_status('completed'), 'the first run ends');
    },
    async stored(content) {
      const all = await call('GET', `${path}/messages`);
      return all.filter((message) => message.content === content).length;
    },
  };
}

export const flows = staged([
  [
    'a first message by keyboard alone streams its answer',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/threads');
      await page.getByLabel('Search threads').focus();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await composer(page).waitFor();
      for (
        let steps = 0;
        !(await composer(page).evaluate((field) => field === document.activeElement));
        ++steps
      ) {
        assert.ok(steps < 40, 'the composer is reached by the keyboard');
        await page.keyboard.press('Tab');
      }
      await page.keyboard.type(
        '[delay 30] [think a first thought] [say It begins] [words 40] [say *and ends*]',
      );
      await page.keyboard.press('Enter');
      await page.locator('.answer').filter({ hasText: 'It begins' }).waitFor();
      const early = await answer_text(page);
      await page.locator('.answer em').filter({ hasText: 'and ends' }).waitFor();
      assert.ok(
        (await answer_text(page)).length > early.length,
        'it was seen while it was written',
      );
      assert.equal(await page.locator('.thinking p').count(), 0, 'reasoning is folded');
      await page.locator('.thinking summary').click();
      await page.locator('.thinking').filter({ hasText: 'a first thought' }).waitFor();
      await page.locator('.threads [aria-current=page]').waitFor();
    },
  ],

  [
    'what is shown is the message that is stored',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(
        page,
        '[say one two] [tool web_search {"query":"x"}] [say three] ' +
          '[tools web_search {"query":"y"} | ' +
          'web_search {"query":"z"}] [say four]',
      );
      const stored = await final_text(h, user, thread_id);
      await page.locator('.answer').filter({ hasText: 'four' }).waitFor();
      assert.equal(await answers_on_one_line(page), one_line(stored));
      assert.equal(await page.locator('details.tool').count(), 3);
      await page.reload();
      await page.locator('.answer').filter({ hasText: 'four' }).waitFor();
      assert.equal(await answers_on_one_line(page), one_line(stored));
      await page.locator('details.tool').nth(2).waitFor();
      assert.equal(await answers_on_one_line(page), one_line(stored));
    },
  ],

  [
    'a run is stopped, and what was said stays',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[delay 50] [say so far] [words 2000]');
      await page.locator('.answer').filter({ hasText: 'so far' }).waitFor();
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('Stopped.').waitFor();
      const [run] = await h.call('GET', `/v1/threads/${thread_id}/runs`, undefined, user.token);
      assert.equal(run.status, 'cancelled');
      assert.match(await answer_text(page), /^so far/);
      await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
    },
  ],

  [
    'an answer is asked for again, and the old one is gone',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, '[stamps 1]');
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      const first = (await answer_text(page)).trim();
      assert.match(first, /^\d+$/);
      await page.getByRole('button', { name: 'Regenerate answer' }).click();
      await h.eventually(async () => {
        const texts = (await page.locator('.answer').allTextContents()).map((text) => text.trim());
        return texts.length === 1 && /^\d+$/.test(texts[0]) && texts[0] !== first;
      }, 'one other answer');
    },
  ],

  [
    'a failed run says why, and can be tried again',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      // The model counts by conversation: this one is like no other.
      await send(page, `${user.login} [status 400 times=1] [say better]`);
      await page.locator('.ended.failed').filter({ hasText: 'model.rejected' }).waitFor();
      await page.reload();
      await page.locator('.ended.failed').filter({ hasText: 'model.rejected' }).waitFor();
      await page.getByRole('button', { name: 'Regenerate answer' }).click();
      await page.locator('.answer').filter({ hasText: 'better' }).waitFor();
    },
  ],

  [
    'a message during a run queues behind it, another interrupts',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[delay 40] [say first] [words 60]');
      await page.locator('.answer').filter({ hasText: 'first' }).waitFor();
      await send(page, '[say second]');
      await page.getByText('Queued until the previous run ends.').waitFor();
      await page.locator('article.run').nth(1).locator('.answer').waitFor();
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      await send(page, '[delay 40] [say third] [words 2000]');
      await page.locator('.answer').filter({ hasText: 'third' }).waitFor();
      await page.getByLabel('If a run is active').selectOption('interrupt');
      await send(page, '[say fourth]');
      await page.getByText('A newer run replaced it.').waitFor();
      await page.locator('article.run').nth(3).locator('.answer').waitFor();
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      const runs = await h.call('GET', `/v1/threads/${thread_id}/runs`, undefined, user.token);
      assert.deepEqual(
        runs.map(({ status }) => status),
        ['completed', 'cancelled', 'completed', 'completed'],
      );
    },
  ],

  [
    'a busy thread asks what to do, and loses no message',
    async (h) => {
      const { page, end_first, stored } = await busy_thread(h);
      await page.getByRole('button', { name: 'Queue after it' }).click();
      await page.getByText('Queued until the previous run ends.').waitFor();
      await end_first();
      await page.locator('article.run').nth(1).locator('.answer').waitFor();
      assert.equal(await stored('[say behind it]'), 1);
    },
  ],

  [
    'a thread that is busy no more when somebody chooses answers as well',
    async (h) => {
      const { page, end_first, stored } = await busy_thread(h);
      await end_first();
      await page.locator('article.run .answer').filter({ hasText: 'in front' }).waitFor();
      await page.getByRole('button', { name: 'Queue after it' }).click();
      await page.locator('article.run').nth(1).locator('.answer').waitFor();
      assert.equal(await stored('[say behind it]'), 1);
    },
  ],

  [
    'threads are listed page by page, found, renamed and deleted',
    async (h) => {
      const user = await h.new_user();
      for (let number = 1; number <= 55; ++number) {
        await h.call('POST', '/v1/threads', { title: `Thread number ${number}` }, user.token);
      }
      const page = await h.signed_in(user, '/threads');
      const rows = page.locator('.threads li');
      await rows.nth(49).waitFor();
      assert.equal(await rows.count(), 50);
      await page.getByRole('button', { name: 'Show more' }).click();
      await rows.nth(54).waitFor();
      await page.getByLabel('Search threads').fill('number 17');
      await h.eventually(async () => (await rows.count()) === 1, 'one is found');
      await rows.getByRole('link').click();
      await page.getByRole('button', { name: 'Rename' }).click();
      await page.getByLabel('Title').fill('A better name');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'A better name' }).waitFor();
      await page.getByLabel('Search threads').fill('');
      await rows.filter({ hasText: 'A better name' }).waitFor();
      assert.match(await page.title(), /^A better name/);
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await h.eventually(
        async () => (await rows.filter({ hasText: 'A better name' }).count()) === 0,
        'it is gone',
      );
      const left = await h.call('GET', '/v1/threads?limit=200', undefined, user.token);
      assert.ok(left.every(({ title }) => title !== 'A better name') && left.length === 54);
    },
  ],

  [
    'threads of one end user are listed, searched, and linked to',
    async (h) => {
      const user = await h.new_user();
      for (const [title, end_user] of [
        ['Trip to Graz', 'customer 8/123'],
        ['Trip to Rome', 'customer 8/123'],
        ['Trip to Graz too', 'customer 8'],
        ['Trip of nobody', null],
      ]) {
        await h.call('POST', '/v1/threads', { title, end_user }, user.token);
      }
      const page = await h.signed_in(user, '/threads');
      const rows = page.locator('.threads li');
      await rows.nth(3).waitFor();
      await page.getByText('Threads of one end user').click();
      await page.getByRole('textbox', { name: 'End user', exact: true }).fill('customer 8/123');
      await page.keyboard.press('Enter');
      await h.eventually(async () => (await rows.count()) === 2, 'those of the end user');
      await page.getByLabel('Search threads').fill('Graz');
      await h.eventually(async () => (await rows.count()) === 1, 'the one that fits both');
      await rows.getByRole('link').click();
      await page.getByRole('heading', { name: 'Trip to Graz' }).waitFor();
      await page.reload();
      await h.eventually(async () => (await rows.count()) === 2, 'the address keeps it');
      await page.getByRole('button', { name: 'Threads of all end users' }).click();
      await h.eventually(async () => (await rows.count()) === 4, 'all of them');
      await page.locator('.chat-head a', { hasText: 'customer 8/123' }).click();
      await h.eventually(async () => (await rows.count()) === 2, 'by the mark of a thread');
    },
  ],

  [
    'persona and model are chosen, and stay chosen',
    async (h) => {
      const user = await h.new_user();
      await h.call(
        'POST',
        '/v1/personas?scope=org',
        { persona_key: 'terse', version: '2', display_name: 'Terse', system_prompt: 'Be terse.' },
        user.token,
      );
      const { page, thread_id } = await new_thread(h, user);
      await page.getByLabel('Persona').selectOption('terse@2');
      await send(page, '[say hi]');
      await page.locator('.answer').filter({ hasText: 'hi' }).waitFor();
      const [{ run_id }] = await h.call(
        'GET',
        `/v1/threads/${thread_id}/runs`,
        undefined,
        user.token,
      );
      const run = await h.call('GET', `/v1/runs/${run_id}`, undefined, user.token);
      assert.equal(run.persona_id, 'terse@2');
      await page.reload();
      await h.eventually(
        async () => (await page.getByLabel('Persona').inputValue()) === 'terse@2',
        'it is chosen',
      );
    },
  ],

  [
    'a private thread of an end user is begun',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/threads/new');
      await page.getByText('Thread options').click();
      await page.getByLabel('Private').check();
      const options = page.locator('details').filter({ hasText: 'Thread options' });
      await options.getByLabel('End user', { exact: true }).fill('customer-8123');
      await send(page, '[say welcome]');
      await page.locator('.answer').filter({ hasText: 'welcome' }).waitFor();
      await page
        .locator('.chat-head')
        .filter({ hasText: 'customer-8123' })
        .filter({ hasText: 'private' })
        .waitFor();
      const [thread] = await h.call('GET', '/v1/threads', undefined, user.token);
      assert.deepEqual(
        [thread.is_private, thread.end_user, thread.title],
        [true, 'customer-8123', '[say welcome]'],
      );
    },
  ],

  [
    'a thread that is not there leads back to the list, at 360 px',
    async (h) => {
      h.t.allow(404);
      const user = await h.new_user();
      const nowhere = '/threads/01a21ba2-8b0f-71e3-89ab-09b30e04dff6';
      const page = await h.signed_in(user, nowhere, { width: 360, height: 740 });
      await page.locator('.error').filter({ hasText: 'threads.not_found' }).waitFor();
      await h.t.fits(page, nowhere);
      await page.locator('main').getByRole('link', { name: 'Threads' }).click();
      await page.getByLabel('Search threads').waitFor();
    },
  ],

  [
    'a thread of another organization of one is there after a switch',
    async (h) => {
      h.t.allow(404);
      const user = await h.new_user();
      const { token } = user;
      const made = { slug: `e-${user.login}`, name: 'Elsewhere' };
      const org = await must('POST', '/v1/orgs', made, { token });
      const there = { token, headers: { 'X-Org-Id': org.id } };
      const thread = await must('POST', '/v1/threads', { title: 'kept there' }, there);
      const page = await h.signed_in(user, `/threads/${thread.id}`);
      await page.getByRole('button', { name: 'Switch to Elsewhere' }).click();
      await page.getByRole('heading', { name: 'kept there' }).waitFor();
      assert.equal(await page.locator('select.org').inputValue(), org.id);
    },
  ],

  [
    'older messages are read by page, and stay in order',
    async (h) => {
      const user = await h.new_user();
      const thread = await h.call('POST', '/v1/threads', {}, user.token);
      for (let number = 1; number <= 70; ++number) {
        await h.call(
          'POST',
          `/v1/threads/${thread.id}/messages`,
          { content: `message ${number}.` },
          user.token,
        );
      }
      const page = await open_thread(h, user, thread.id);
      await page.locator('.said').nth(49).waitFor();
      await page.getByRole('button', { name: 'Show older messages' }).click();
      await page.locator('.said').nth(69).waitFor();
      const shown = await page.locator('.said').allTextContents();
      assert.deepEqual(
        shown.map((text) => text.trim()),
        Array.from({ length: 70 }, (_, index) => `message ${index + 1}.`),
      );
      const first = page.locator('.said', { hasText: /^\s*message 21\.\s*$/ });
      const { y } = await first.boundingBox();
      const pane = await page.locator('.pane').boundingBox();
      assert.ok(y >= pane.y && y < pane.y + pane.height, 'what was read is in its place');
    },
  ],
]);
