// Tests what tabs cost while nobody does anything in them, and what nowhere stays: secrets, and
// sessions that were signed out of.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  admin_token,
  base,
  mail_with,
  make_account,
  must,
  open_account_menu,
  settled,
} from '../harness.mjs';
import { composer, new_thread, open_thread, send, staged } from '../chat_steps.mjs';

// The event streams that a page has open, as they come and go.
function streams_of(page) {
  const open = new Set();
  const is_stream = (request) => /\/events(\?|$)/.test(new URL(request.url()).pathname);
  page.on('request', (request) => is_stream(request) && open.add(request));
  for (const end of ['requestfinished', 'requestfailed']) {
    page.on(end, (request) => open.delete(request));
  }
  return open;
}

async function waiting_run(h, user) {
  const thread = await h.call('POST', '/v1/threads', {}, user.token);
  await h.call('POST', `/v1/threads/${thread.id}/messages`, { content: '[ask Why?]' }, user.token);
  const { run_id } = await h.call('POST', `/v1/threads/${thread.id}/runs`, {}, user.token);
  await h.eventually(async () => {
    const { status } = await h.call('GET', `/v1/runs/${run_id}`, undefined, user.token);
    return status === 'waiting_for_input';
  }, 'the run waits');
  return { run_id, thread_id: thread.id };
}

export const flows = staged([
  [
    'a tab costs one stream at most, on every screen, shown or hidden, and none where nothing runs',
    async (h) => {
      const user = await h.new_user();
      const made = [];
      for (let count = 0; count < 3; ++count) made.push(await waiting_run(h, user));
      const [{ run_id, thread_id }] = made;
      const idle = await h.call('POST', '/v1/threads', { title: 'Nothing runs' }, user.token);
      const page = await h.signed_in(user, '/threads');
      const open = streams_of(page);
      for (const [path, shown, most] of [
        ['/threads', '.threads li', 0],
        [`/threads/${thread_id}`, '.wait', 1],
        [`/threads/${idle.id}`, '.composer', 0],
        ['/inbox', '.wait', 1],
        ['/runs', 'tbody tr', 0],
        [`/runs/${run_id}`, '.timeline', 1],
        [`/runs/${run_id}?tab=replay`, '.replay', 1],
        ['/usage', '.figures', 0],
        ['/account', 'section', 0],
        ['/sessions', 'tbody tr', 0],
      ]) {
        await page.goto(`${base}/console/#${path}`);
        await page.locator(`main ${shown}`).first().waitFor();
        await h.eventually(() => open.size === most, `${path}: ${most} streams`);
        await h.hide(page);
        await page.waitForTimeout(300);
        assert.ok(open.size <= most, `${path}, hidden: ${open.size} streams`);
        await h.show(page);
      }
      for (const { run_id: one } of made) {
        await page.goto(`${base}/console/#/inbox`);
        const at = made.findIndex((each) => each.run_id === one);
        await page.locator('.inbox-head').nth(at).click();
        await h.eventually(() => open.size <= 1, 'one of several waits is followed');
      }
    },
  ],

  [
    'a hidden tab asks for little',
    async (h) => {
      const user = await h.new_user();
      const { page } = await new_thread(h, user);
      await settled(page);
      await h.hide(page);
      h.t.calls = [];
      await page.waitForTimeout(20_000);
      assert.deepEqual(h.t.calls, []);
    },
  ],

  [
    'signing out ends streams, and the session, in every tab of the browser',
    async (h) => {
      h.t.allow(401);
      const user = await h.new_user();
      const { thread_id } = await waiting_run(h, user);
      const page = await open_thread(h, user, thread_id);
      await page.locator('.wait textarea').fill('what nobody else is to read');
      const open = streams_of(page);
      await page.reload();
      await page.locator('.wait').waitFor();
      const tabs = [page];
      for (const path of ['/inbox', '/keys', '/threads/new']) {
        tabs.push(await h.second_tab(page, path));
      }
      await composer(tabs[3]).fill('a draft');
      await h.hide(page);
      await open_account_menu(tabs[2]);
      await tabs[2].getByRole('button', { name: 'Sign out' }).click();
      for (const tab of tabs) {
        await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
        const left = await tab.locator('main').innerText();
        assert.doesNotMatch(left, /Why\?|nobody else|a draft/);
        const kept = await tab.evaluate(() => ({ ...localStorage, ...sessionStorage }));
        assert.deepEqual(
          Object.keys(kept).filter((name) => /signed_in|org/.test(name)),
          [],
        );
      }
      await h.eventually(() => open.size === 0, 'no stream is left');
      const answer = await page.evaluate(async () => {
        const refreshed = await fetch('/v1/auth/refresh', { method: 'POST' });
        return refreshed.status;
      });
      assert.equal(answer, 401, 'the cookie opens nothing');
      await page.goto(`${base}/console/#/threads/${thread_id}`);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      // The next user of that tab finds nothing of them; the others show another's threads.
      h.t.allow(404);
      const next = await h.new_user();
      await tabs[3].getByLabel('Login or email address').fill(next.login);
      await tabs[3].getByLabel('Password', { exact: true }).fill(next.password);
      await tabs[3].keyboard.press('Enter');
      await composer(tabs[3]).waitFor();
      assert.equal(await composer(tabs[3]).inputValue(), '');
    },
  ],

  [
    'no secret comes into an address, a storage, or a log of the service',
    async (h) => {
      const user = await make_account();
      const page = await h.t.page();
      const addresses = [];
      page.on('request', (request) => addresses.push(request.url()));
      page.on('framenavigated', (frame) => addresses.push(frame.url()));
      const tokens = new Set();
      page.on('request', (request) => {
        const [, token] = request.headers().authorization?.match(/^Bearer (.+)$/) ?? [];
        if (token) tokens.add(token);
      });
      await h.t.sign_in(page, user, '/keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await page.locator('dialog[open]').getByLabel('Name').fill('for the logs');
      await page.keyboard.press('Enter');
      const key = await page.locator('.secret').innerText();
      await must('GET', '/v1/me', undefined, { token: key });
      const [link, proof] = await mail_with(user.email, /^https:\S+#\/verify\?token=([\w-]+)/m);
      await page.goto(link);
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.locator('.toast', { hasText: 'Email address confirmed' }).waitFor();
      await page.goto(`${base}/console/#/threads/new`);
      await send(page, '[say seen]');
      await page.locator('.answer').filter({ hasText: 'seen' }).waitFor();
      const [cookie] = await page.context().cookies();
      const secrets = { key, proof, password: user.password, cookie: cookie.value };
      [...tokens].forEach((token, at) => (secrets[`token ${at}`] = token));
      assert.ok(tokens.size > 0 && cookie.value.length > 20);
      const kept = await page.evaluate(async () =>
        JSON.stringify([
          { ...localStorage },
          { ...sessionStorage },
          await indexedDB.databases(),
          await caches.keys(),
          document.cookie,
          history.state,
          location.href,
        ]),
      );
      const folder = process.env.LOG_DIR;
      const logs = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
      // The log of requests is rows soon after it was lines.
      const admin = await admin_token();
      await h.eventually(async () => {
        const path = '/v1/admin/access-log?limit=200';
        const rows = JSON.stringify(await must('GET', path, undefined, { token: admin }));
        logs[0] += rows;
        return rows.includes('/runs');
      }, 'the log of requests tells of the run');
      // The link of the mail itself is what the user opened.
      const seen = addresses.filter((url) => url !== link);
      for (const [name, secret] of Object.entries(secrets)) {
        assert.ok(!seen.some((url) => url.includes(secret)), `${name} in an address`);
        assert.ok(!kept.includes(secret), `${name} in a storage`);
        assert.ok(!logs.some((text) => text.includes(secret)), `${name} in a log`);
      }
    },
  ],
]);
