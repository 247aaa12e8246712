// Tests what servers of tools ask of the person whose run calls them: forms, and authorizations.
import assert from 'node:assert/strict';

import { admin_token, base, must, with_setting } from '../harness.mjs';
import { events_of, new_thread, newest_run, send, staged } from '../chat_steps.mjs';
import { start_mcp_peer } from '../mcp_peer.mjs';

let servers = 0;

// A server of the platform, its tools listed, and a persona of the user's organization with them.
async function offer(h, user, peer, path, authorization) {
  const token = await admin_token();
  const key = `peer-${process.pid}-${++servers}`;
  const made = await h.call(
    'POST',
    '/v1/mcp-servers',
    { key, url: peer.url + path, trust: 'run', ...(authorization && { authorization }) },
    token,
  );
  const server = `/v1/mcp-servers/${made.id}`;
  const listed = async () => {
    const { listing, connection } = await must('GET', server, undefined, { token });
    return listing.state === 'ok' || (listing.state === 'failed' && connection?.can_connect);
  };
  await h.eventually(listed, 'the server is listed, or known to want an authorization', 20_000);
  await h.call('POST', `${server}:refresh`, undefined, token);
  await h.eventually(async () => {
    const { listing } = await must('GET', server, undefined, { token });
    return listing.state === 'ok';
  }, 'its tools are listed');
  const persona = { persona_key: key, version: '1', tools: [`${key}__*`] };
  await h.call('POST', '/v1/personas?scope=org', persona, user.token);
  return { key, id: made.id };
}

async function thread_with(h, user, key, content) {
  const made = await new_thread(h, user);
  await made.page.getByLabel('Persona').selectOption(`${key}@1`);
  await send(made.page, content);
  return made;
}

const answer = (card) => card.getByRole('button', { name: 'Answer', exact: true });

// With a peer that stops however it goes.
const with_peer = (work) => async (h) => {
  const peer = await start_mcp_peer();
  try {
    await work(h, peer);
  } finally {
    peer.stop();
  }
};

export const flows = staged([
  [
    'a form is filled in by keyboard, and what does not fit says why',
    with_peer(async (h, peer) => {
      const user = await h.new_user();
      const { key } = await offer(h, user, peer, '/forms/mcp');
      const content = `[tool ${key}__order {}] [say thank you]`;
      const { page, thread_id } = await thread_with(h, user, key, content);
      const card = page.locator('.wait');
      await card.filter({ hasText: 'Which one?' }).waitFor();
      await h.t.axe(page, 'a form');
      assert.ok(await answer(card).isDisabled(), 'empty');
      await h.eventually(
        () => card.getByLabel('Size').evaluate((field) => field === document.activeElement),
        'the first field has the keyboard',
      );
      h.t.allow(422);
      await page.keyboard.type('0');
      await page.keyboard.press('Tab');
      await page.keyboard.type('b');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await card.getByLabel('Colour').press('Enter');
      await answer(card).press('Enter');
      await card.locator('.error').filter({ hasText: 'validation.error' }).waitFor();
      await card.getByLabel('Size').fill('12');
      await page.keyboard.press('Enter');
      await page.locator('.answer').filter({ hasText: 'thank you' }).waitFor();
      const run = await newest_run(h, user, thread_id);
      const [told] = (await events_of(h, user, run.run_id)).filter(
        ({ type }) => type === 'tool.result',
      );
      const given = { action: 'accept', content: { size: 12, colour: 'blue', gift: false } };
      assert.deepEqual(JSON.parse(told.data.result), given);
    }),
  ],

  [
    'a form that is more than flat is JSON, hostile words are words, and it is declined',
    with_peer(async (h, peer) => {
      const user = await h.new_user();
      const { key } = await offer(h, user, peer, '/forms/mcp');
      peer.form = {
        message: '<script>alert(1)</script> \u05e9\u05dc\u05d5\u05dd',
        schema: { type: 'object', properties: { a: { type: 'string', title: 'x'.repeat(3000) } } },
      };
      const { page } = await thread_with(h, user, key, `[tool ${key}__order {}] [say well]`);
      await page.locator('.wait').filter({ hasText: '<script>alert(1)</script>' }).waitFor();
      await h.t.fits(page, 'a form with a long name');
      await page.getByRole('button', { name: 'Decline' }).click();
      await page.locator('.answer').filter({ hasText: 'well' }).waitFor();
      await page.locator('.past-wait').filter({ hasText: '<script>' }).waitFor();
    }),
  ],

  [
    'an authorization is given on its page, and the run goes on',
    with_peer(async (h, peer) => {
      // Only public addresses are asked about a server's authorization server.
      await with_setting('outbound.allow_cidrs', ['127.0.0.1/32'], async () => {
        const user = await h.new_user();
        const { key } = await offer(h, user, peer, '/locked/mcp', { type: 'oauth', per: 'user' });
        const content = `[tool ${key}__order {}] [say it is open]`;
        const { page } = await thread_with(h, user, key, content);
        await page.getByText('Connect your account to').waitFor();
        await page.getByRole('button', { name: 'Connect…' }).click();
        const link = page.getByRole('link', { name: /Go to 127\.0\.0\.1/ });
        await link.waitFor();
        assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
        h.t.allow_origin(peer.url);
        const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
        await tab.waitForURL(`${base}/console/#/mcp-connected?outcome=ok*`);
        await page.locator('.answer').filter({ hasText: 'it is open' }).waitFor();
      });
    }),
  ],
]);
