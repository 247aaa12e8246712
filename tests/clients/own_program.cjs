// The programs that docs/programs.md shows, as they stand there, against a private stack: both ways
// to follow a run read it whole though each of their connections is cut, one that asks prints the
// answer, and the check of a webhook takes what is signed and nothing else.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node own_program.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const { execFile } = require('node:child_process');
const { createHmac, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { promisify } = require('node:util');
const { account, call, json } = require('./ui_account.cjs');

const target = new URL(process.env.BASE_URL);

const page = fs.readFileSync(path.join(__dirname, '../../docs/programs.md'), 'utf8');
const blocks = (language) => [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))]
  .map((found) => found[1]);
const fromOne = (seqs) => seqs.map((_, i) => i + 1);

// What Python prints when it has done this with the block.
async function python(block, then, ...words) {
  const { stdout } = await promisify(execFile)('/usr/bin/python3',
    ['-c', `import json, sys\n${block}\n${then}`, ...words],
    { env: { ...process.env, SSL_CERT_FILE: process.env.NODE_EXTRA_CA_CERTS } });
  return stdout;
}

// Every connection of its ends after some thousand bytes of answer, in the midst of whatever is said.
async function cuttingProxy() {
  let connections = 0;
  const server = net.createServer((client) => {
    connections += 1;
    const far = net.connect(Number(target.port), target.hostname);
    let left = 5000 + connections * 37;
    const end = () => { client.destroy(); far.destroy(); };
    far.on('data', (piece) => {
      client.write(piece.subarray(0, left));
      left -= piece.length;
      if (left <= 0) client.end(() => far.destroy());
    });
    client.on('data', (piece) => far.write(piece));
    for (const socket of [client, far]) socket.on('error', end).on('close', end);
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const base = `https://127.0.0.1:${server.address().port}`;
  return { base, taken: () => connections, close: () => server.close() };
}

async function main() {
  const { key } = await account();
  process.env.API_KEY = key;
  const [program] = blocks('js');
  const [follower, asker, checker] = blocks('python');
  const { follow } = await import(`data:text/javascript,${encodeURIComponent(program)}`);
  const { id: thread } = await json(await call('POST', '/v1/threads', key, {}));
  await json(await call('POST', `/v1/threads/${thread}/messages`, key, { content: '[delay 20] [words 120]' }));
  const { run_id: run } = await json(await call('POST', `/v1/threads/${thread}/runs`, key, {}));
  const proxy = await cuttingProxy();

  const seqs = [];
  for await (const event of follow(proxy.base, key, run)) seqs.push(event.seq);
  assert.deepStrictEqual(seqs, fromOne(seqs));
  assert.ok(seqs.length > 20, `${seqs.length} events`);
  const cuts = proxy.taken();
  assert.ok(cuts > 1, `${cuts} connections`);
  for await (const event of follow(proxy.base, key, run, seqs.length)) assert.fail(`event ${event.seq}`);
  await assert.rejects(follow(proxy.base, 'hst_none', run).next(), { status: 401 });

  // What is stored comes in records that end anywhere, so that lines are cut too.
  const read = await python(follower,
    'print(json.dumps([event["seq"] for event in follow(*sys.argv[1:])]))', proxy.base, key, run);
  assert.deepStrictEqual(JSON.parse(read), seqs);
  assert.ok(proxy.taken() > cuts + 1, `${proxy.taken()} connections`);
  proxy.close();
  assert.match(await python(follower, asker), /You wrote: "Who are you\?"/);

  const secret = randomBytes(32);
  const mac = (text) => createHmac('sha256', secret).update(text).digest('base64');
  const signed = (seconds, body) => ({
    'webhook-id': 'm', 'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,AAAA v1,${mac(`m.${seconds}.${body}`)}` });
  const now = Math.floor(Date.now() / 1000);
  const cases = [[signed(now, '{"é":1}'), '{"é":1}'], [signed(now, '{}'), '{ }'], [signed(now - 900, '{}'), '{}']];
  const verdicts = await python(checker, 'print(json.dumps([is_ours(sys.argv[1], headers, body.encode()) '
    + 'for headers, body in json.loads(sys.argv[2])]))',
  `whsec_${secret.toString('base64')}`, JSON.stringify(cases));
  assert.deepStrictEqual(JSON.parse(verdicts), [true, false, false]);
  console.log(`  ${seqs.length} events, ${cuts} connections`);
}

setTimeout(() => { throw new Error('it does not end'); }, 60000).unref();
main().catch((fault) => { console.error(fault); process.exit(1); });
