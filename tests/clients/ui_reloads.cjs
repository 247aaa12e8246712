// useChat of @ai-sdk/react in Chromium against a private stack: the page is loaded again at random
// moments, RELOADS (20) times, while runs of every kind of part speak; what it shows then is the
// messages that are read and the stream that is taken up. No part may be lost or stand there twice.
// And examples/chat/index.html is used as a person would.
//   node ui_reloads.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { account, call, json } = require('./ui_account.cjs');

const base = process.env.BASE_URL;
const wanted = Number(process.env.RELOADS ?? 20);
const browser_path = process.env.CHROMIUM ?? '/usr/bin/chromium';

// What esm.sh serves the example, made of the packages of the lock.
const served = {
  react: 'export { createElement, useEffect, useState } from "react";',
  'react-dom': 'export { createRoot } from "react-dom/client";',
  '@ai-sdk/react': 'export { useChat } from "@ai-sdk/react";',
  ai: 'export { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, '
    + 'lastAssistantMessageIsCompleteWithToolCalls } from "ai";',
};

const options = {
  bundle: true, write: false, format: 'esm', target: 'es2022', outdir: '/', nodePaths: [process.env.NODE_PATH],
  define: { 'process.env.NODE_ENV': '"production"' } };

const plain = ({ id, role, parts }) => JSON.parse(JSON.stringify({
  id: role === 'user' ? '' : id,  // the client's own, until it is read
  role,
  parts: parts.map(({ providerExecuted, ...part }) => (providerExecuted ? { ...part, providerExecuted } : part)),
}));

// What was shown meanwhile is the beginning of what stands there in the end.
function isBeginning(part, whole) {
  if (part === undefined || part.type !== whole.type) return false;
  if (part.text !== undefined) return whole.text.startsWith(part.text);
  return part.toolCallId === whole.toolCallId;
}
function checkShown(shown, stored) {
  assert.strictEqual(shown.error, undefined, shown.error);
  assert.ok(shown.messages.length <= stored.length, JSON.stringify(shown.messages));
  shown.messages.map(plain).forEach((message, nth) => {
    const whole = plain(stored[nth]);
    assert.strictEqual(message.role, whole.role);
    assert.ok(message.parts.length <= whole.parts.length, JSON.stringify(message));
    message.parts.forEach((part, at) => {
      assert.ok(isBeginning(part, whole.parts[at]), `${JSON.stringify(part)} of ${JSON.stringify(whole.parts[at])}`);
    });
  });
}

async function reloads(context, { key }) {
  const { outputFiles: [script] } = await require('esbuild').build({ ...options, entryPoints: [path.join(__dirname, 'ui_page.js')] });
  const page = await context.newPage();
  await page.route(`${base}/page`, (route) => route.fulfill({
    contentType: 'text/html', body: `<!doctype html><body></body><script type="module">${script.text.replaceAll('</script', '<\\/script')}</script>` }));
  let done = 0;
  let runs = 0;
  while (done < wanted) {
    const chat = `reloads-${runs++}`;
    await page.goto('about:blank');
    await page.goto(`${base}/page#token=${key}&chat=${chat}`);
    const seen = [];
    for (let turn = 0; turn < 3; ++turn) {
      await page.waitForFunction(() => window.isTakenUp && window.shown.status === 'ready');
      await page.evaluate((words) => window.say(words), `[delay 15] [think ${'hm '.repeat(15)}] [words 20] `
        + '[tools web_search {"query":"a"} | web_fetch {"url":"https://a.example"}] [words 25] [tool web_search {"query":"b"}] [words 15]');
      // Before its head is there the message may not have been sent at all.
      await page.waitForFunction(() => window.shown.status === 'streaming');
      for (;;) {
        await new Promise((then) => { setTimeout(then, Math.random() * 400); });
        const shown = await page.evaluate(() => window.shown);
        if (shown) seen.push(shown);
        if (shown && shown.status === 'ready') break;
        await page.reload();
        ++done;
        await page.waitForFunction(() => window.shown);
      }
    }
    // A stream that ended in the moment of a reload was read whole.
    await page.waitForFunction(() => window.shown.messages.length === 6 && window.shown.status === 'ready');
    const stored = await json(await call('GET', `/v1/ui/chat/${chat}/messages`, key));
    const last = await page.evaluate(() => window.shown);
    assert.deepStrictEqual(last.messages.map(plain), stored.map(plain));
    for (const shown of seen) checkShown(shown, stored);
  }
  await page.close();
  return `${done} reloads in ${runs} chats`;
}

// The example as it is, with the packages of the lock in place of esm.sh's.
async function example(context, { key }) {
  const virtual = {
    name: 'served',
    setup(build) {
      build.onResolve({ filter: /^served:/ }, ({ path: name }) => ({ path: name.slice(7), namespace: 'served' }));
      build.onLoad({ filter: /.*/, namespace: 'served' }, ({ path: name }) => ({ contents: served[name], resolveDir: __dirname }));
    },
  };
  const entryPoints = Object.keys(served).map((name) => ({ in: `served:${name}`, out: name.replace(/\W/g, '_') }));
  const { outputFiles } = await require('esbuild').build({ ...options, entryPoints, splitting: true, plugins: [virtual] });
  // Each piece has one address, or React would be there twice.
  const files = Object.fromEntries(outputFiles.map((file) => (
    [path.basename(file.path), file.text.replaceAll('"./chunk', '"https://esm.sh/chunk')])));
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (fault) => faults.push(fault.message));
  page.on('console', (line) => { if (line.type() === 'error') faults.push(line.text()); });
  page.setDefaultTimeout(10_000);
  await page.route('https://esm.sh/**', (route) => {
    const [, asked] = new URL(route.request().url()).pathname.split(/^\/(?=.)/);
    const name = asked.endsWith('.js') ? asked : `${asked.replace(/(?<=.)@[0-9.]+/, '').replace('/client', '').replace(/\W/g, '_')}.js`;
    const body = files[path.basename(name)];
    assert.ok(body, `${asked}: ${Object.keys(files)}`);
    return route.fulfill({ contentType: 'text/javascript', body, headers: { 'access-control-allow-origin': '*' } });
  });
  const html = fs.readFileSync(path.join(__dirname, '../../examples/chat/index.html'), 'utf8');
  await page.route(`${base}/example`, (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await page.goto(`${base}/example#token=${key}&chat=the-example`);
  const say = async (text) => {
    await page.getByRole('textbox').last().fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  await page.getByRole('button', { name: 'Send' }).waitFor().catch(() => assert.fail(faults.join()));
  await say('[think hm] [say hello there]');
  await page.getByText('hello there', { exact: true }).waitFor();
  await say('[ask Which colour?] [say fine]');
  await page.getByText('Which colour?', { exact: true }).waitFor();
  await page.locator('input[name=words]').fill('Blue.');
  await page.locator('input[name=words]').press('Enter');
  await page.getByText('fine', { exact: true }).waitFor();
  await say('[delay 30] [words 200]');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Again' }).waitFor();
  assert.deepStrictEqual(faults, []);
  await page.close();
}

async function main() {
  let playwright = null;
  try {
    playwright = require('playwright-core');
    fs.accessSync(browser_path, fs.constants.X_OK);
  } catch (fault) {
    console.log(`SKIPPED: no Chromium (${fault.message}); apt install chromium`);
    return;
  }
  const caller = await account();
  const browser = await playwright.chromium.launch({ executablePath: browser_path, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    await example(context, caller);
    console.log(`useChat in Chromium ${browser.version()}: ${await reloads(context, caller)}, no part lost or twice`);
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
