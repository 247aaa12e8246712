// The client of event streams, against a server that cuts at random bytes, stays silent, refuses,
// answers twice or leaves something out.
import { cpu_ms } from './cpu_time.mjs';
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { follow_events, pause_ms } from '../../../console/chat/stream.mjs';
import { sse_reader } from '../../../console/chat/sse.mjs';
import { random_from } from './random.mjs';

let server;
let answer = () => {};
const heads = [];

before(async () => {
  server = http.createServer((request, response) => {
    heads.push(request.headers);
    answer(request, response, Number(request.headers['last-event-id'] ?? 0));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const events_of = (count, text = (seq) => `wört ${seq} 🙂\u2028`) =>
  Array.from({ length: count }, (_, index) => ({
    seq: index + 1,
    type: index + 1 === count ? 'run.completed' : 'message.delta',
    data: index + 1 === count ? {} : { content: text(index + 1) },
    created_at: 'now',
  }));
const frame = (event, end = '\n') =>
  `id: ${event.seq}${end}data: ${JSON.stringify(event)}${end}${end}`;
const begin = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });

// Follows until it ends or fails; what came, and the states it went through.
function follow(further = {}) {
  heads.length = 0;
  const got = [];
  const states = [];
  let handle;
  const done = new Promise((resolve) => {
    handle = follow_events({
      connect: ({ headers, signal, renew_token }) =>
        fetch(`http://127.0.0.1:${server.address().port}/`, {
          headers: { ...headers, authorization: renew_token ? 'new' : 'old' },
          signal,
        }),
      on_events: (events) => got.push(...events),
      on_state: (state) => {
        states.push(state);
        if (state.phase === 'ended' || state.phase === 'failed') resolve();
        if (state.phase === 'pausing') setTimeout(() => handle.wake(), 1);
      },
      ...further,
    });
  });
  return { got, states, done, handle };
}

test('of streams cut at random bytes every event arrives once and in order', async () => {
  for (let seed = 1; seed <= 40; ++seed) {
    const random = random_from(seed);
    const events = events_of(60);
    const end = ['\n', '\r\n', '\r'][random(3)];
    answer = async (request, response, last) => {
      begin(response);
      const rest = events
        .slice(last)
        .map((event) => frame(event, end) + (random(4) ? '' : `: ping${end}${end}`));
      const bytes = Buffer.from(`: ok${end}retry: 5${end}${end}${rest.join('')}`);
      const until = random(8) === 0 ? bytes.length : Math.min(bytes.length, random(1500));
      for (let from = 0; from < until;) {
        const to = Math.min(until, from + 1 + random(97));
        response.write(bytes.subarray(from, to));
        from = to;
        if (random(3) === 0) await new Promise(setImmediate);
      }
      if (random(2)) response.end();
      else response.destroy();
    };
    const { got, done } = follow();
    await done;
    assert.deepEqual(got, events, `seed ${seed}`);
  }
});

test('the cursor goes out as Last-Event-ID, and 204 is the end', async () => {
  answer = (request, response, last) => {
    if (last === 3) return response.writeHead(204).end();
    begin(response);
    response.end(
      events_of(9)
        .slice(0, 3)
        .map((event) => frame(event))
        .join(''),
    );
  };
  const { got, done, states } = follow();
  await done;
  assert.deepEqual([got.length, states.at(-1).phase], [3, 'ended']);
  assert.deepEqual(
    heads.map((head) => head['last-event-id']),
    [undefined, '3'],
  );
});

test('events that come again are passed over, and a gap is asked for again', async () => {
  const events = events_of(8);
  let visits = 0;
  answer = (request, response, last) => {
    begin(response);
    visits += 1;
    if (visits === 1)
      response.end(
        events
          .slice(0, 4)
          .map((event) => frame(event))
          .join(''),
      );
    else if (visits === 2)
      response.end([events[1], events[6]].map((event) => frame(event)).join(''));
    else
      response.end(
        events
          .slice(Math.max(0, last - 2))
          .map((event) => frame(event))
          .join(''),
      );
  };
  const { got, done } = follow();
  await done;
  assert.deepEqual(got, events);
  assert.equal(heads[2]['last-event-id'], '4');
});

test('a run.resumed below the cursor begins the numbers anew, once', async () => {
  const events = events_of(8);
  const resumed = {
    seq: 4,
    type: 'run.resumed',
    created_at: 'later',
    data: { attempt: 1, discard_after_seq: 3 },
  };
  let visits = 0;
  answer = (request, response) => {
    begin(response);
    visits += 1;
    const sent = visits === 1 ? events.slice(0, 6) : [resumed, resumed, ...events.slice(4)];
    response.end(sent.map((event) => frame(event)).join(''));
  };
  const { got, done } = follow();
  await done;
  assert.deepEqual(
    got.map(({ seq, type }) => (type === 'run.resumed' ? `r${seq}` : seq)),
    [1, 2, 3, 4, 5, 6, 'r4', 5, 6, 7, 8],
  );
});

test('after a 401 the token is renewed once, a second one is a failure', async () => {
  answer = (request, response) => {
    if (request.headers.authorization === 'new') begin(response).end(frame(events_of(1)[0]));
    else response.writeHead(401).end('{"code":"auth.token_expired"}');
  };
  const first = follow();
  await first.done;
  assert.deepEqual(first.got, events_of(1));
  answer = (request, response) =>
    response.writeHead(401).end('{"code":"auth.invalid_token","detail":"no"}');
  const second = follow();
  await second.done;
  assert.equal(heads.length, 2);
  assert.equal(second.states.at(-1).problem.code, 'auth.invalid_token');
});

test('a refusal fails with its problem, 5xx and 429 are tried again', async () => {
  answer = (request, response) => response.writeHead(410).end('{"code":"runs.events_expired"}');
  const gone = follow();
  await gone.done;
  assert.equal(gone.states.at(-1).problem.code, 'runs.events_expired');
  const statuses = [502, 503, 429, 200];
  answer = (request, response) => {
    const status = statuses.shift();
    response
      .writeHead(status, { 'retry-after': '3' })
      .end(status === 200 ? frame(events_of(1)[0]) : '<html>');
  };
  const again = follow();
  await again.done;
  assert.equal(again.got.length, 1);
  const pauses = again.states.filter(({ phase }) => phase === 'pausing');
  assert.deepEqual(
    pauses.map(({ problem }) => problem.status),
    [502, 503, 429],
  );
  assert.ok(pauses.every(({ pause_ms: ms }) => ms >= 3000));
});

test('a stream without a byte, and a request without an answer, are left', async () => {
  let visits = 0;
  answer = (request, response) => {
    visits += 1;
    if (visits === 1) return;
    begin(response).write(': ok\n\n');
    if (visits === 2) response.write(frame(events_of(2)[0]));
    else response.end(frame(events_of(2)[1]));
  };
  const { got, done } = follow({ silence_ms: 120 });
  await done;
  assert.deepEqual(got, events_of(2));
  assert.equal(visits, 3);
});

test('pings keep a silent stream', async () => {
  answer = (request, response) => {
    begin(response);
    const pings = setInterval(() => response.write(': ping\n\n'), 40);
    setTimeout(() => {
      clearInterval(pings);
      response.end(frame(events_of(1)[0]));
    }, 600);
  };
  const { done } = follow({ silence_ms: 250 });
  await done;
  assert.equal(heads.length, 1);
});

test('when a laptop wakes, the page that is shown ends the dead connection', async () => {
  let now = 0;
  const clock = { now: () => now, set: (call, ms) => setTimeout(call, ms), clear: clearTimeout };
  answer = (request, response, last) => {
    begin(response).write(frame(events_of(2)[last]));
    if (last === 1) response.end();
  };
  const { got, done, handle } = follow({ clock });
  while (got.length === 0) await new Promise(setImmediate);
  now += 3_600_000;
  handle.wake();
  await done;
  assert.equal(got.length, 2);
});

test('close ends the connection, and nothing comes after it', async () => {
  let closed;
  const is_closed = new Promise((resolve) => (closed = resolve));
  answer = (request, response) => {
    begin(response).write(frame(events_of(3)[0]));
    response.on('close', closed);
  };
  const { got, handle } = follow();
  while (got.length === 0) await new Promise(setImmediate);
  handle.close();
  await is_closed;
  assert.equal(got.length, 1);
});

test('retry: sets the pause, which grows, is bounded, and half chance', async () => {
  answer = (request, response, last) => {
    begin(response);
    response.end(last === 0 ? `retry: 2000\n\n${frame(events_of(2)[0])}` : frame(events_of(2)[1]));
  };
  const { states, done } = follow();
  await done;
  const { pause_ms: ms } = states.find(({ phase }) => phase === 'pausing');
  assert.ok(ms >= 1000 && ms <= 2000, `${ms}`);
  assert.equal(
    pause_ms(1, 1000, () => 0),
    500,
  );
  assert.equal(
    pause_ms(3, 1000, () => 0.999999),
    4000,
  );
  assert.equal(
    pause_ms(60, 1000, () => 0),
    5000,
  );
});

test('one event of 8 MiB in small pieces costs no square', () => {
  const line = `data: ${'x'.repeat(8 << 20)}\n\n`;
  let length = 0;
  const reader = sse_reader({ on_event: ({ data }) => (length = data.length), on_retry: () => {} });
  const begun = cpu_ms();
  for (let from = 0; from < line.length; from += 512) reader.feed(line.slice(from, from + 512));
  assert.equal(length, 8 << 20);
  assert.ok(cpu_ms() - begun < 2000);
});

test('comments, empty fields, several data lines and unknown fields are as in the standard', () => {
  const got = [];
  const retries = [];
  const reader = sse_reader({
    on_event: (event) => got.push(event),
    on_retry: (ms) => retries.push(ms),
  });
  reader.feed(
    '\ufeffdata: a\ndata:b\ndata\nunknown: c\n:data: d\nretry: 7\nretry: 7x\n\nevent: e\nid: 3\n\n',
  );
  reader.feed('data:  two\r');
  reader.feed('\n\r\ndata: cut off');
  assert.deepEqual(got, [
    { id: null, type: 'message', data: 'a\nb\n' },
    { id: '3', type: 'message', data: ' two' },
  ]);
  assert.deepEqual(retries, [7]);
});
