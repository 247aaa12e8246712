// Tests what a run waits for: questions, approvals, function calls; the inbox and its notices.
import assert from 'node:assert/strict';

import {
  events_of,
  give_further,
  new_thread,
  newest_run,
  send,
  staged,
  weather_tool,
} from '../chat_steps.mjs';

const confirming = {
  persona_key: 'careful',
  version: '1',
  tools: [],
  confirm_tools: ['get_weather'],
};

async function careful_thread(h, user) {
  await h.call('POST', '/v1/personas?scope=org', confirming, user.token);
  const made = await new_thread(h, user);
  await made.page.getByLabel('Persona').selectOption('careful@1');
  await give_further(made.page, { 'Function tools (JSON)': [weather_tool] });
  return made;
}

export const flows = staged([
  [
    'a call is approved with edited arguments, and answered by hand',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await careful_thread(h, user);
      await send(
        page,
        '[tool get_weather {"city":"Rome","id":12345678901234567890,"rate":1.10}] [echo-history]',
      );
      const given = page.locator('.wait').getByLabel('Arguments');
      await given.waitFor();
      assert.match(await given.inputValue(), /"id": 12345678901234567890,\s*"rate": 1.10\b/);
      await given.fill('{"city": "Gr');
      await page.locator('.wait .fault').waitFor();
      assert.ok(
        await page.locator('.wait button.main').isDisabled(),
        'what is no JSON is not approved',
      );
      await given.fill('{"city": "Graz"}');
      await page.getByRole('button', { name: 'Approve with changes' }).click();
      const result = page.locator('.owed').getByLabel('Result', { exact: true });
      await result.waitFor();
      assert.match(await page.locator('.owed pre').innerText(), /"city": "Graz"/);
      await result.fill('{"celsius": 21.50, "id": 12345678901234567890}');
      await page.getByRole('button', { name: 'Submit result' }).click();
      await page.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      const run = await newest_run(h, user, thread_id);
      assert.equal(run.status, 'completed');
      const events = await events_of(h, user, run.run_id);
      const owed = events.find(({ data }) => data.kind === 'tool_results');
      assert.deepEqual(owed.data.calls[0].arguments, { city: 'Graz' });
      assert.equal(events.find(({ type }) => type === 'tool.result').data.result.celsius, 21.5);
      const [told] = await h.call(
        'GET',
        `/v1/threads/${thread_id}/messages?limit=1`,
        undefined,
        user.token,
      );
      assert.match(told.content, /21\.50.{0,20}12345678901234567890/, 'as it was given');
    },
  ],

  [
    'a call is denied with a reason',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await careful_thread(h, user);
      await send(page, '[tool get_weather {"city":"Rome"}] [say as you wish]');
      await page.getByLabel('Reason (sent to the model)').fill('Not "today"');
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.locator('.answer').filter({ hasText: 'as you wish' }).waitFor();
      await page.locator('.tool-denied').waitFor();
      const run = await newest_run(h, user, thread_id);
      const result = (await events_of(h, user, run.run_id)).find(
        ({ type }) => type === 'tool.result',
      );
      assert.equal(result.data.error.code, 'tool.denied');
      assert.match(result.data.error.message, /Not "today"/);
    },
  ],

  [
    'Enter behind a reason refuses; it never approves',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await careful_thread(h, user);
      await send(page, '[tool get_weather {"city":"Rome"}] [say as you wish]');
      const reason = page.getByLabel('Reason (sent to the model)');
      await reason.press('Enter');
      await reason.fill('Never');
      await reason.press('Enter');
      await page.locator('.tool-denied').waitFor();
      await page.locator('.answer').filter({ hasText: 'as you wish' }).waitFor();
      const run = await newest_run(h, user, thread_id);
      const results = (await events_of(h, user, run.run_id)).filter(
        ({ type }) => type === 'tool.result',
      );
      assert.deepEqual(
        results.map(({ data }) => data.error.code),
        ['tool.denied'],
      );
    },
  ],

  [
    'several calls are answered one by one: JSON, text and an error',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await give_further(page, { 'Function tools (JSON)': [weather_tool] });
      await send(
        page,
        '[tools get_weather {"city":"A"} | get_weather {"city":"B"} | ' +
          'get_weather {"city":"C"}] [say thanks]',
      );
      const calls = page.locator('.owed');
      await calls.nth(2).waitFor();
      const answer = async (kind, text) => {
        const before = await calls.count();
        await calls.first().getByLabel('Kind of result').selectOption(kind);
        await calls.first().getByLabel('Result', { exact: true }).fill(text);
        await calls.first().getByRole('button', { name: 'Submit result' }).click();
        await h.eventually(
          async () => (await calls.count()) === before - 1,
          'one less is asked for',
        );
      };
      await answer('json', '[1, 2]');
      await page.reload();
      await calls.nth(1).waitFor();
      assert.equal(await calls.count(), 2);
      await answer('text', 'rain "and" wind');
      await answer('error', 'nobody knows');
      await page.locator('.answer').filter({ hasText: 'thanks' }).waitFor();
      const run = await newest_run(h, user, thread_id);
      const results = (await events_of(h, user, run.run_id)).filter(
        ({ type }) => type === 'tool.result',
      );
      assert.deepEqual(
        results.map(({ data }) => data.result ?? data.error),
        [[1, 2], 'rain "and" wind', { code: 'failed', message: 'nobody knows' }],
      );
    },
  ],

  [
    'the inbox shows what waits, on other tabs too, and a question is answered there by keyboard',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      const other = await h.second_tab(page, '/runs');
      await send(page, '[ask Where *exactly* do you live?] [say thank you]');
      await page.locator('.wait').filter({ hasText: 'Where exactly do you live?' }).waitFor();
      await h.eventually(
        async () => /^\(1\) /.test(await other.title()),
        'the title says so',
        40_000,
      );
      assert.match(await other.locator('#icon').getAttribute('href'), /notice/);
      await other.keyboard.press('g');
      await other.keyboard.press('i');
      const field = other.getByRole('textbox', { name: 'The agent asks:' });
      await field.waitFor();
      await h.eventually(
        () => field.evaluate((node) => node === document.activeElement),
        'the answer has the keyboard',
      );
      await other.keyboard.type('In Graz.');
      const sending = other.waitForRequest((request) => request.url().endsWith('/input'));
      await other.keyboard.press('Control+Enter');
      const sent = (await sending).postDataJSON();
      assert.match(sent.request_id, /^[0-9a-f]{8}-/, 'what is answered is what was shown');
      await page.locator('.answer').filter({ hasText: 'thank you' }).waitFor();
      await other.getByText('Nothing is waiting for you.').waitFor();
      await h.eventually(async () => !/^\(/.test(await other.title()), 'the title is plain again');
      assert.equal((await newest_run(h, user, thread_id)).status, 'completed');
    },
  ],

  [
    'a question answered elsewhere is no question any more',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, '[ask Really?] [say so be it]');
      await page.locator('.wait textarea').fill('half an ans');
      const { run_id } = await newest_run(h, user, thread_id);
      await h.call('POST', `/v1/runs/${run_id}/input`, { content: 'yes' }, user.token);
      await page.locator('.answer').filter({ hasText: 'so be it' }).waitFor();
      assert.equal(await page.locator('.wait').count(), 0);
    },
  ],
]);
