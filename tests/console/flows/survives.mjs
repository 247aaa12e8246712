// Tests what the chat survives without losing or doubling a character: reload, a second tab, a lost
// network, a daemon that is killed, a pool that is begun again. CONSOLE_KILLS (4): how often the
// daemon is killed in one answer, and every other time the pool.
import assert from 'node:assert/strict';

import {
  answer_text,
  answers_on_one_line,
  composer,
  final_text,
  new_thread,
  newest_run,
  one_line,
  send,
  staged,
} from '../chat_steps.mjs';
import { settled } from '../harness.mjs';

// Words that differ, so that one that is lost or doubled is seen.
const numbers = (count) =>
  `[delay 25] [say ${Array.from({ length: count }, (_, index) => `n${index + 1}`).join(' ')}]`;
const said = (count) => Array.from({ length: count }, (_, index) => `n${index + 1}`).join(' ');
const has_said = (page, word) =>
  page
    .locator('.answer')
    .filter({ hasText: new RegExp(`\\b${word}\\b`) })
    .waitFor();

async function shows_what_is_stored(h, user, page, thread_id) {
  const stored = await final_text(h, user, thread_id, 120_000);
  await h
    .eventually(
      async () => (await answer_text(page)) === stored,
      'the page shows what is stored',
      30_000,
    )
    .catch(async (error) => {
      throw new Error(`${error.message}\nshown:  ${await answer_text(page)}\nstored: ${stored}`);
    });
  return stored;
}

export const flows = staged([
  [
    'a reload in the middle of an answer',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, numbers(200));
      await has_said(page, 'n20');
      await page.reload();
      await has_said(page, 'n20');
      await page.reload();
      await has_said(page, 'n60');
      assert.equal(await shows_what_is_stored(h, user, page, thread_id), said(200));
    },
  ],

  [
    'a second tab sees the same, writes, and stops',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      const other = await h.second_tab(page, `/threads/${thread_id}`);
      await composer(other).waitFor();
      await send(page, numbers(100));
      await has_said(other, 'n10');
      assert.equal(await shows_what_is_stored(h, user, other, thread_id), said(100));
      await shows_what_is_stored(h, user, page, thread_id);
      await other.getByRole('button', { name: 'Regenerate answer' }).waitFor();
      await send(other, `${numbers(900)}`);
      await h.eventually(
        async () => (await page.locator('article.run').count()) === 2,
        'the first tab shows it',
      );
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await other.getByText('Stopped.').waitFor();
      assert.equal((await newest_run(h, user, thread_id)).status, 'cancelled');
    },
  ],

  [
    'a network that is gone for a while',
    async (h) => {
      h.t.allow_lost_connections();
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, numbers(240));
      await has_said(page, 'n10');
      for (let times = 0; times < 2; ++times) {
        await page.context().setOffline(true);
        await page.waitForTimeout(700);
        await page.context().setOffline(false);
      }
      assert.equal(await shows_what_is_stored(h, user, page, thread_id), said(240));
    },
  ],

  [
    'a laptop that sleeps in the middle of an answer',
    async (h) => {
      h.t.allow_lost_connections();
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      const lid = await page.context().newCDPSession(page);
      await send(page, numbers(160));
      await has_said(page, 'n10');
      // No line of the page runs, and its connections break.
      await lid.send('Page.setWebLifecycleState', { state: 'frozen' });
      await page.context().setOffline(true);
      await final_text(h, user, thread_id);
      await page.context().setOffline(false);
      await lid.send('Page.setWebLifecycleState', { state: 'active' });
      assert.equal(await shows_what_is_stored(h, user, page, thread_id), said(160));
    },
  ],

  [
    'a daemon that is killed again and again, and the pool with it',
    async (h) => {
      const kills = Number(process.env.CONSOLE_KILLS ?? 4);
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      // A finished turn before each kill: three take-overs without one end a run.
      const turns = Array.from(
        { length: kills + 1 },
        (_, index) =>
          `[delay 25] [say part${index} ${said(60)}] [tool web_search {"query":"${index}"}]`,
      );
      await send(page, `${turns.join(' ')} [say the end]`);
      for (let kill = 0; kill < kills; ++kill) {
        const text = page.locator('.answer').filter({ hasText: new RegExp(`part${kill}\\b.*n20`) });
        await text.waitFor({ timeout: 60_000 });
        await h.kill_daemon();
        // And the pool, every other time.
        if (kill % 2 === 1) await h.kill_pool();
        await h.start_stack();
      }
      await page.locator('.answer').filter({ hasText: 'the end' }).waitFor({ timeout: 60_000 });
      const stored = await final_text(h, user, thread_id);
      assert.equal(await answers_on_one_line(page), one_line(stored));
      for (let turn = 0; turn <= kills; ++turn)
        assert.equal(stored.split(`part${turn} `).length, 2, `part${turn} once`);
      assert.ok((await page.getByText('Another node took over').count()) > 0, 'it was taken over');
      assert.equal((await newest_run(h, user, thread_id)).status, 'completed');
    },
  ],

  [
    'a question stays through a kill and a reload',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await send(page, '[ask Still there?] [say good]');
      await page.locator('.wait textarea').fill('Yes, I');
      await h.kill_daemon();
      await h.start_stack();
      assert.equal(
        await page.locator('.wait textarea').inputValue(),
        'Yes, I',
        'what was typed stays',
      );
      await page.locator('.wait textarea').fill('Yes, I am.');
      await page.getByRole('button', { name: 'Answer', exact: true }).click();
      await page.locator('.answer').filter({ hasText: 'good' }).waitFor();
    },
  ],

  [
    'a pool that is killed while a message is sent',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await h.kill_pool();
      await send(page, '[say at last]');
      await h.start_stack();
      const again = page.getByRole('button', { name: 'Try again', exact: true });
      const answer = page.locator('.answer').filter({ hasText: 'at last' });
      await h.eventually(
        async () => {
          if (await again.count())
            await again
              .first()
              .click()
              .catch(() => {});
          return (await answer.count()) > 0;
        },
        'it is answered',
        40_000,
      );
      const messages = await h.call(
        'GET',
        `/v1/threads/${thread_id}/messages`,
        undefined,
        user.token,
      );
      assert.equal(messages.filter(({ role }) => role === 'user').length, 1);
      assert.equal(
        (await h.call('GET', `/v1/threads/${thread_id}/runs`, undefined, user.token)).length,
        1,
      );
    },
  ],

  [
    'an answer that ends behind another tab is seen on this one',
    async (h) => {
      const user = await h.new_user();
      const { page, thread_id } = await new_thread(h, user);
      await send(page, numbers(40));
      await has_said(page, 'n2');
      await h.hide(page);
      await final_text(h, user, thread_id);
      await h.eventually(async () => /^\(1\) /.test(await page.title()), 'the title says so');
      await h.show(page);
      await h.eventually(async () => !/^\(/.test(await page.title()), 'the title is plain again');
      assert.equal(await shows_what_is_stored(h, user, page, thread_id), said(40));
    },
  ],

  [
    'a page of an older console says that there is another one, and loads it',
    async (h) => {
      h.t.allow(404);
      const page = await h.signed_in(await h.new_user(), '/account');
      await settled(page);
      // State after an upgrade: its parts have other names.
      const was = (address) => address.pathname.endsWith('.js');
      await page.route(was, (route) => route.fulfill({ status: 404, body: '' }));
      await page.route('**/console/', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<script src="app-NEWER.js"></script>' }),
      );
      await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
      await page.locator('.error').getByText('The console was updated').waitFor();
      await page.unroute(was);
      await page.unroute('**/console/');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('button', { name: 'New endpoint' }).waitFor();
    },
  ],
]);
