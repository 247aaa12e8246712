// The stream of every wire format cut at random bytes, through nginx, while its run is at work and
// behind it, and taken up as the format has it: the native one behind the last whole frame, by
// Last-Event-ID or after_seq; the others by the same request with its Idempotency-Key, which gives
// the stream from its beginning. What was read before the cut and what is read behind it are,
// joined, byte by byte the stream that was never cut.
//   NODE_EXTRA_CA_CERTS=$CA_CERT [CUTS=1000] [SEED=1] node cut_streams.cjs
'use strict';

const assert = require('node:assert');
const https = require('node:https');

const base = process.env.BASE_URL;
const cuts = Number(process.env.CUTS ?? 1000);
const runs = 10;
const atOnce = 16;
const script = '[delay 3] [think what is it, \u00e4h] '
  + '[say caf\u00e9 \u2603 \u6f22\u5b57 "quoted"\\n line] '
  + '[words 40] [tool web_search {"query":"\u00fc"}] [words 60]';

let state = Number(process.env.SEED ?? 1);
function below(limit) {
  state = (state * 48271) % 2147483647;
  return state % limit;
}

let key = '';
const agent = new https.Agent({ keepAlive: true, maxSockets: atOnce * 2 });

// The bytes of an answer; of a stream up to the cut, when there is one. onHead: once it has begun.
function read({ method = 'GET', path, body, headers = {}, cut = Infinity, onHead = () => {} }) {
  return new Promise((resolve, reject) => {
    const request = https.request(base + path, {
      method, agent, headers: { authorization: `Bearer ${key}`, ...headers },
    }, (answer) => {
      onHead();
      const pieces = [];
      let size = 0;
      const done = () => {
        const bytes = Buffer.concat(pieces);
        if (answer.statusCode < 300) return resolve(bytes.subarray(0, cut));
        return reject(new Error(`${path}: ${answer.statusCode} ${bytes}`));
      };
      answer.on('data', (piece) => {
        pieces.push(piece);
        size += piece.length;
        if (size < cut) return;
        done();
        request.destroy();
      });
      answer.on('end', done);
      answer.on('error', reject);
      if (cut === 0) { done(); request.destroy(); }
    });
    request.on('error', reject);
    request.end(body);
  });
}

const json = (body, further = {}) => ({
  method: 'POST', body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...further },
});
const parsed = async (call) => JSON.parse((await read(call)).toString());

// The frames that are whole, and what is there of the next one.
function parted(head) {
  const end = head.lastIndexOf('\n\n') + 2;
  const at = end === 1 ? 0 : end;
  return [head.subarray(0, at), head.subarray(at).toString('latin1')];
}

// What is no part of the stream: comments, and when to come back. They are blocks of their own.
const plain = (bytes) => bytes.toString('latin1').split('\n\n')
  .filter((block) => !/^(:|retry:)/.test(block)).join('\n\n');

// A stream that is asked for again by the same request.
const replayed = (path, bodyOf) => async (name) => {
  const call = { path, ...json(bodyOf(name), { 'idempotency-key': name }) };
  return {
    open: (further = {}) => read({ ...call, ...further }),
    async goOn(head) {
      const again = plain(await read(call));
      const [whole, rest] = parted(head);
      const begun = plain(whole) + (rest.startsWith('d') ? rest : '');
      return begun + again.slice(begun.length);
    },
  };
};

const formats = {
  async native() {
    const { id } = await parsed({ path: '/v1/threads', ...json({}) });
    await read({ path: `/v1/threads/${id}/messages`, ...json({ content: script }) });
    const { run_id: run } = await parsed({ path: `/v1/threads/${id}/runs`, ...json({}) });
    const path = `/v1/runs/${run}/events`;
    return {
      open: (further = {}) => read({ path, ...further }),
      async goOn(head) {
        const [whole] = parted(head);
        const seqs = [...whole.toString('latin1').matchAll(/^id: (\d+)$/gm)];
        const last = seqs.length > 0 ? seqs.at(-1)[1] : '0';
        const rest = below(2) === 0
          ? await read({ path, headers: { 'last-event-id': last } })
          : await read({ path: `${path}?after_seq=${last}` });
        return plain(whole) + plain(rest);
      },
    };
  },
  openai: replayed('/v1/openai/chat/completions', () => ({
    model: 'normal@1', stream: true, stream_options: { include_usage: true },
    messages: [{ role: 'user', content: script }],
  })),
  agui: replayed('/v1/agui', (name) => ({
    threadId: name, runId: name, messages: [{ id: 'm', role: 'user', content: script }],
  })),
  ui: replayed('/v1/ui/chat', (name) => ({
    id: name, trigger: 'submit-message',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: script }] }],
  })),
};

async function cutOne(stream, size, wholeOf) {
  const cut = below(size);
  const head = await stream.open({ cut });
  const joined = await stream.goOn(head);
  assert.strictEqual(joined, await wholeOf(), `cut at ${cut}`);
}

// One run, cut so often while it works and behind its end.
async function cutRun(begin, name, count) {
  const stream = await begin(name);
  let begun;
  const isBegun = new Promise((resolve) => { begun = resolve; });
  const whole = stream.open({ onHead: begun }).then(plain);
  await Promise.race([isBegun, whole]);
  let left = count;
  const one = async () => {
    // As long as the script makes it, about; behind its end nothing is cut.
    while (left-- > 0) await cutOne(stream, 14000, () => whole);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  // Words that wait are joined, the fewer frames the busier the machine.
  assert.ok((await whole).length > 2000, `${name}: a stream of ${(await whole).length} bytes`);
}

async function main() {
  const login = `cut${process.pid}`;
  const account = await parsed({
    path: '/v1/auth/register',
    ...json({ login, password: 'correct horse', email: `${login}@example.org` }),
  });
  key = account.access_token;
  key = (await parsed({ path: '/v1/api-keys', ...json({ name: 'cut' }) })).key;
  for (const [name, begin] of Object.entries(formats)) {
    for (let nth = 0; nth < runs; ++nth) {
      await cutRun(begin, `${name}-${nth}-${process.pid}`, Math.ceil(cuts / runs))
        .catch((error) => { throw new Error(`${name}, run ${nth}: ${error.stack}`); });
    }
    console.log(`${name}: cut at ${cuts} bytes, joined byte by byte the same`);
  }
}

main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
