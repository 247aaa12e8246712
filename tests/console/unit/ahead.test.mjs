// Tests what is asked for ahead is given once, and to only who asked: console/ahead.mjs. And
// which organization a call is made in: console/api.mjs.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

// The part of a browser that these modules need when they are read.
globalThis.document = /** @type {any} */ ({ documentElement: { dataset: {} } });
globalThis.addEventListener = /** @type {any} */ (() => {});
// There are no other tabs; an open channel would keep this process for ever.
delete globalThis.BroadcastChannel;
let calls = 0;
let on_call = (/** @type {any} */ _headers) => 200;
globalThis.location = /** @type {any} */ ({ origin: 'https://hostler.example' });
globalThis.fetch = /** @type {any} */ (
  async (_path, { headers }) => {
    calls += 1;
    return new Response(JSON.stringify([headers.Authorization]), { status: on_call(headers) });
  }
);

// Both of one bundle: they share the token, and what they import of npm is where `make console`
// has it.
const root = fileURLToPath(new URL('../../..', import.meta.url));
const modules = join(root, 'build/console_tools/node_modules');
const { outputFiles } = await createRequire(join(modules, 'x.js'))('esbuild').build({
  stdin: {
    contents: `export * from './ahead.mjs'; export { begin_session } from './token.mjs';
      export { act_in_org, api } from './api.mjs';`,
    resolveDir: join(root, 'console'),
  },
  nodePaths: [modules],
  bundle: true,
  write: false,
  format: 'esm',
});
const code = Buffer.from(outputFiles[0].text).toString('base64');
const { ask_ahead, forget_ahead, get_ahead, begin_session, act_in_org, api } = await import(
  `data:text/javascript;base64,${code}`
);
const path = /** @type {any} */ ('/v1/threads?limit=50');
const whose = async () => (await get_ahead(path)).body[0];

beforeEach(() => {
  forget_ahead();
  calls = 0;
});

test('an answer that was asked for ahead is given once', async () => {
  begin_session('one');
  ask_ahead([path]);
  assert.equal(await whose(), 'Bearer one');
  assert.equal(calls, 1);
  assert.equal(await whose(), 'Bearer one');
  assert.equal(calls, 2);
});

test('who signs in meanwhile gets an answer of their own', async () => {
  begin_session('one');
  ask_ahead([path]);
  begin_session('two');
  assert.equal(await whose(), 'Bearer two');
});

test('what is forgotten is asked for again', async () => {
  begin_session('one');
  ask_ahead([path]);
  forget_ahead();
  await whose();
  assert.equal(calls, 2);
});

test('a call that is repeated stays in the organization that it was made in', async () => {
  begin_session('one');
  act_in_org('here');
  const seen = [];
  on_call = (headers) => {
    seen.push(headers['X-Org-Id']);
    act_in_org('there');
    return seen.length === 1 ? 503 : 200;
  };
  await api.post('/v1/threads', {}, { idempotency_key: true });
  assert.deepEqual(seen, ['here', 'here']);
  await api.get(path);
  assert.equal(seen.at(-1), 'there');
  on_call = () => 200;
});
