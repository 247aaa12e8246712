// A thread as a screen holds it: what is sent once, what comes back, and what stands where.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';

import { Conversation, items_of, title_from } from '../../../console/chat/conversation.mjs';

const open = [];
afterEach(() => open.splice(0).forEach((conversation) => conversation.close()));

// A service of one thread in memory; `fail`: [method and path's end, problem] of the next call to
// refuse.
function service() {
  const made = {
    thread: { id: 't', active_run_id: null, created_by_user_id: 'u' },
    messages: [],
    runs: [],
    calls: [],
    streams: new Map(),
    fail: [],
  };
  let number = 0;
  const next_id = () => `id-${String((number += 1)).padStart(4, '0')}`;
  const answers = new Map();
  const run_once = (key, work) => {
    if (!answers.has(key)) answers.set(key, work());
    return answers.get(key);
  };
  const refuse = (call) => {
    made.calls.push(call);
    const index = made.fail.findIndex(([end]) => call.endsWith(end));
    if (index < 0) return;
    const [, problem, is_done] = made.fail.splice(index, 1)[0];
    if (is_done) is_done();
    throw problem;
  };
  made.push_message = (content, run_id = null) => {
    const id = next_id();
    made.messages.push({ id, content, run_id, created_at: id, incomplete: false });
    return made.messages.at(-1);
  };
  made.push_run = (status = 'running') => {
    const run_id = next_id();
    made.runs.unshift({ run_id, status, created_at: run_id });
    if (status === 'running') made.thread.active_run_id ??= run_id;
    return run_id;
  };
  made.end = (run_id, type, text) => {
    const run = made.runs.find((each) => each.run_id === run_id);
    run.status = type.slice(4);
    made.thread.active_run_id = null;
    if (text !== undefined) made.push_message(text, run_id);
    const seq = made.seqs?.get(run_id) ?? 0;
    const events = [];
    if (text !== undefined)
      events.push({ seq: seq + 1, type: 'message.delta', data: { content: text } });
    events.push({ seq: seq + events.length + 1, type, data: {} });
    made.streams.get(run_id)?.(events);
  };
  made.api = {
    async get(path) {
      refuse(`GET ${path}`);
      if (path.includes('/messages')) {
        const after = /after=([\w-]+)/.exec(path)?.[1] ?? '';
        return { body: made.messages.filter(({ id }) => id > after), next: null };
      }
      if (path.includes('/runs')) return { body: made.runs.map((run) => ({ ...run })), next: null };
      return { body: { ...made.thread }, next: null };
    },
    async post(path, body, { idempotency_key: key } = {}) {
      const store = () => {
        if (path.endsWith('/messages')) return made.push_message(body.content);
        if (path.endsWith(':cancel'))
          return made.end(path.split('/').at(-1).slice(0, -7), 'run.cancelled');
        return { run_id: made.push_run() };
      };
      made.fail
        .filter(([end]) => `POST ${path}`.endsWith(end))
        .forEach((each) => each[2] === true && (each[2] = () => run_once(key, store)));
      refuse(`POST ${path}`);
      return { body: key ? run_once(key, store) : store() };
    },
  };
  made.run_events = async (run_id, { signal }) =>
    new Response(
      new ReadableStream({
        start(stream) {
          const write = (events) => {
            const frames = events
              .map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)
              .join('');
            stream.enqueue(new TextEncoder().encode(frames));
          };
          made.streams.set(run_id, write);
          signal.addEventListener('abort', () => stream.error(new Error('aborted')));
        },
      }),
    );
  return made;
}

function converse(made) {
  const conversation = new Conversation({
    api: made.api,
    run_events: made.run_events,
    thread_id: 't',
    on_change: () => {},
  });
  open.push(conversation);
  return conversation;
}

async function until(condition, what) {
  for (let tries = 0; !condition(); ++tries) {
    assert.ok(tries < 2000, what);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const texts = (conversation) =>
  items_of(conversation.state).map((item) =>
    item.kind === 'message'
      ? `> ${item.message.content}`
      : item.story?.log.length
        ? item.story.entries.map(({ text }) => text).join('')
        : item.answers.map(({ content }) => content).join('') || item.run.status,
  );

test('a message is sent, its run followed, and its answer stands once', async () => {
  const made = service();
  const conversation = converse(made);
  await conversation.sync();
  await conversation.send('hello', {});
  await until(() => made.streams.size === 1, 'a stream');
  made.end(made.runs[0].run_id, 'run.completed', 'hi');
  await until(() => conversation.state.live === null && !conversation.syncing, 'the end');
  assert.deepEqual(texts(conversation), ['> hello', 'hi']);
  assert.equal(made.messages.length, 2);
});

test('when the answer to a call is lost, sending again stores nothing twice', async () => {
  const made = service();
  const conversation = converse(made);
  await conversation.sync();
  const lost = Object.assign(new Error('no answer'), { code: 'network.unreachable' });
  made.fail.push(['/messages', lost, true], ['/runs', lost, true]);
  await conversation.send('once', {});
  assert.equal(conversation.state.sending.problem, lost);
  await conversation.send_again();
  assert.equal(conversation.state.sending.problem, lost);
  await conversation.send_again();
  assert.equal(conversation.state.sending, null);
  assert.deepEqual([made.messages.length, made.runs.length], [1, 1]);
});

test('a message whose run was refused stays, and its run is asked for otherwise', async () => {
  const made = service();
  const conversation = converse(made);
  made.push_run();
  await conversation.sync();
  made.fail.push(['/runs', Object.assign(new Error('busy'), { code: 'runs.thread_busy' })]);
  await conversation.send('second', {});
  assert.deepEqual(texts(conversation), ['running', '> second']);
  await conversation.send_again({ multitask_strategy: 'enqueue' });
  assert.equal(conversation.state.sending, null);
  assert.deepEqual([made.messages.length, made.runs.length], [1, 2]);
});

test('what was not stored is given back to the composer', async () => {
  const made = service();
  const conversation = converse(made);
  await conversation.sync();
  made.fail.push(['/messages', new Error('no')]);
  await conversation.send('mine', {});
  assert.equal(conversation.abandon(), 'mine');
  assert.deepEqual(texts(conversation), []);
});

test('a run that the thread names no more is read to its end', async () => {
  const made = service();
  const conversation = converse(made);
  await conversation.sync();
  made.push_message('q');
  const run_id = made.push_run();
  await conversation.sync();
  await until(() => made.streams.size === 1, 'a stream');
  const write = made.streams.get(run_id);
  write([{ seq: 1, type: 'run.started', data: {} }]);
  await until(() => conversation.state.stories.get(run_id).log.length === 1, 'its first event');
  // Another tab says that something changed, when the run is over and its words are on their way.
  made.thread.active_run_id = null;
  made.runs[0].status = 'completed';
  made.push_message('all of it', run_id);
  await conversation.sync();
  write([
    { seq: 2, type: 'message.delta', data: { content: 'all of it' } },
    { seq: 3, type: 'run.completed', data: {} },
  ]);
  await until(() => conversation.state.live === null && !conversation.syncing, 'the end');
  assert.deepEqual(texts(conversation), ['> q', 'all of it']);
});

test('a run that another tab began is found, and no end is missed', async () => {
  const made = service();
  const conversation = converse(made);
  await conversation.sync();
  made.push_message('elsewhere');
  const run_id = made.push_run();
  await conversation.poll();
  assert.equal(conversation.state.live, run_id);
  // It ends between the call for the thread and the call for its messages.
  const late = service();
  late.push_message('q');
  const other = late.push_run();
  const get = late.api.get;
  late.api.get = async (path) => {
    const answer = await get(path);
    if (path === '/v1/threads/t' && late.runs[0].status === 'running')
      late.end(other, 'run.completed', 'a');
    return path === '/v1/threads/t' ? { body: { ...late.thread }, next: null } : answer;
  };
  const second = converse(late);
  await second.sync();
  assert.deepEqual(texts(second), ['> q', 'a']);
});

test('a retry takes the answer away, and a retry that fails gives it back', async () => {
  const made = service();
  const conversation = converse(made);
  made.push_message('q');
  const first = made.push_run('completed');
  const answer = made.push_message('old', first);
  await conversation.sync();
  assert.deepEqual(texts(conversation), ['> q', 'old']);
  made.messages = made.messages.filter((message) => message !== answer);
  await conversation.retry();
  await until(() => made.streams.size === 1, 'a stream');
  assert.deepEqual(texts(conversation), ['> q', 'running']);
  made.messages.push(answer);
  made.end(made.runs[0].run_id, 'run.failed');
  await until(() => conversation.state.live === null && !conversation.syncing, 'the end');
  assert.deepEqual(texts(conversation).slice(0, 2), ['> q', 'old']);
});

test('whoever clicks twice asks for one retry, and sends once', async () => {
  const made = service();
  const conversation = converse(made);
  made.push_message('q');
  made.push_run('completed');
  await conversation.sync();
  await Promise.all([conversation.retry(), conversation.retry()]);
  const posts = (end) => made.calls.filter((call) => /^POST/.test(call) && call.endsWith(end));
  assert.equal(posts(':retry').length, 1);
  made.fail.push(['/runs', { code: 'runs.thread_busy' }]);
  await conversation.send('again', {});
  const queued = { multitask_strategy: 'enqueue' };
  await Promise.all([conversation.send_again(queued), conversation.send_again(queued)]);
  assert.equal(posts('/runs').length, 2, 'the refused one, and one more');
});

test('a thread that is left reads no story any more', async () => {
  const made = service();
  const run_id = made.push_run('completed');
  let begun = 0;
  let ended = 0;
  made.run_events = (_, { signal }) => {
    begun += 1;
    signal.addEventListener('abort', () => (ended += 1));
    return new Promise(() => {});
  };
  const conversation = converse(made);
  conversation.read_story(run_id);
  await until(() => begun === 1, 'it is read');
  conversation.close();
  assert.equal(ended, 1);
  await conversation.read_story(run_id);
  assert.equal(begun, 1);
});

test('a message that was posted during a run stands behind it', async () => {
  const made = service();
  made.push_message('first');
  const run_id = made.push_run('completed');
  made.push_message('second');
  made.push_message('answer to first', run_id);
  const conversation = converse(made);
  await conversation.sync();
  assert.deepEqual(texts(conversation), ['> first', 'answer to first', '> second']);
});

test('where more came than a page holds, what lies between is read as older', async () => {
  const made = service();
  const conversation = converse(made);
  made.push_message('first');
  await conversation.sync();
  for (let count = 2; count <= 4; ++count) made.push_message(`of ${count}`);
  const { get } = made.api;
  made.api.get = async (path, options) => {
    const { body, next } = await get(path, options);
    if (!path.includes('/messages')) return { body, next };
    return path.includes('before=')
      ? { body: body.slice(0, 2), next: null }
      : { body: body.slice(2), next: '/v1/threads/t/messages?before=id-0003' };
  };
  await conversation.sync();
  assert.deepEqual(texts(conversation), ['> of 3', '> of 4']);
  await conversation.load_older();
  assert.deepEqual(texts(conversation), ['> first', '> of 2', '> of 3', '> of 4']);
});

test('a thread is named by the first line of its message, whatever stands in it', () => {
  assert.equal(title_from('\n  if (x)\treturn;\n\tmore'), 'if (x) return;');
  assert.equal(title_from('a\u202eb\u0007\u2066c'), 'a b c');
  assert.equal(title_from('\u202e'), '');
  assert.equal(title_from('😀'.repeat(100)), '😀'.repeat(80));
});

test('what could not be read is asked for again, but for what is not there', async () => {
  const made = service();
  const conversation = converse(made);
  made.push_message('first');
  made.fail.push(['GET /v1/threads/t', { status: 503 }]);
  await conversation.sync();
  assert.equal(conversation.state.problem.status, 503);
  await conversation.poll();
  assert.equal(conversation.state.problem, null);
  assert.deepEqual(texts(conversation), ['> first']);
  // A run that ended without an answer while nothing could be read.
  const run_id = made.push_run();
  await conversation.sync();
  made.fail.push(['/runs', { status: 429 }]);
  made.end(run_id, 'run.failed');
  await until(() => conversation.state.problem !== null, 'the refusal');
  await conversation.poll();
  assert.equal(conversation.state.problem, null);
  assert.equal(conversation.state.runs[0].status, 'failed');
  const gone = converse(made);
  made.fail.push(['GET /v1/threads/t', { status: 404 }]);
  await gone.sync();
  const count = made.calls.length;
  await gone.poll();
  assert.equal(made.calls.length, count);
});

test('what could not be stored is given to who left, what was stored is not', async () => {
  const made = service();
  const unsent = [];
  const left = (content) => {
    const conversation = converse(made);
    conversation.on_unsent = (text) => unsent.push(text);
    return { conversation, sending: conversation.send(content, {}) };
  };
  made.fail.push(['/messages', { code: 'network.unreachable' }]);
  const refused = left('refused');
  await refused.sending;
  assert.deepEqual(unsent, []);
  refused.conversation.close();
  refused.conversation.close();
  assert.deepEqual(unsent, ['refused']);
  made.fail.push(['POST /v1/threads/t/messages', { code: 'network.unreachable' }]);
  const on_its_way = left('on its way');
  on_its_way.conversation.close();
  await on_its_way.sending;
  assert.deepEqual(unsent, ['refused', 'on its way']);
  made.fail.push(['POST /v1/threads/t/runs', { code: 'runs.thread_busy' }]);
  const stored = left('stored');
  await stored.sending;
  stored.conversation.close();
  assert.deepEqual(unsent, ['refused', 'on its way']);
});
