// Servers of MCP that others wrote (mcp_peers.mjs), used by runs of a whole stack: what each tool
// answers, who is asked, and what the runs tell of their calls beside what the servers wrote down,
// while the daemon is killed again and again.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node mcp_servers.cjs KILLS
'use strict';

const assert = require('node:assert');
const hostler = require('./mcp_hostler.cjs');
const { Runner } = require('./runner_program.cjs');

const kills = Number(process.argv[2] ?? 5);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const accept = (content) => ({ action: 'accept', content });

const call = (name, given = {}) => `${name} ${JSON.stringify(given)}`;

// The result of a run that makes one call; answer: what a person says when they are asked.
async function resultOf(who, tools, made, answer) {
  const run = await hostler.begin(who, `[tool ${made}] [say thanks]`, tools);
  const end = await hostler.finish(who, run, async (wait) => {
    if (wait.kind === 'tool_results') return undefined;  // its server owes it
    assert.strictEqual(wait.kind, 'elicitation', JSON.stringify(wait));
    return hostler.input(who, run, answer);
  });
  assert.strictEqual(end.status, 'completed');
  const results = (await hostler.story(who, run)).filter(({ type }) => type === 'tool.result');
  assert.strictEqual(results.length, 1);
  return results[0];
}

async function checkEverything(who, server) {
  const names = (await hostler.toolsOf(who, server.id)).map(({ name }) => name);
  assert.strictEqual(server.listing.protocol_version, '2025-11-25');
  assert.ok(names.length >= 12, names.join());
  const result = async (made, answer) =>
    (await resultOf(who, ['every__*'], `every__${made}`, answer)).result;
  assert.strictEqual(await result(call('echo', { message: 'héllo' })), 'Echo: héllo');
  assert.strictEqual(await result(call('get-sum', { a: 2, b: 3 })), 'The sum of 2 and 3 is 5.');
  assert.match(await result(call('get-tiny-image')), /\[image: image\/png/);
  const structured = await result(call('get-structured-content', { location: 'Chicago' }));
  assert.strictEqual(typeof structured.temperature, 'number', JSON.stringify(structured));
  assert.match(await result(call('trigger-long-running-operation', { duration: 0.3, steps: 3 })),
    /completed/);
  // It asks on the stream of the call, which is held while the run waits.
  const told = await result(call('trigger-elicitation-request'), accept({ name: 'Ada' }));
  assert.match(told, /Name: Ada/);
  assert.match(told, /Favorite Integer: 42/);
}

async function checkSdk(who, server, peer) {
  assert.strictEqual(server.listing.protocol_version, '2026-07-28');
  const result = async (made, answer) =>
    (await resultOf(who, ['sdk__*'], `sdk__${made}`, answer)).result;
  const last = () => peer.log.at(-1);
  assert.strictEqual(await result(call('once', { n: 1 })), last().answer);
  assert.strictEqual(await result(call('ask', { n: 2 }), accept({ size: 7 })),
    `${last().answer} 7`);
  assert.strictEqual(await result(call('later', { n: 3, ms: 900 })), last().answer);
  assert.strictEqual(await result(call('later_asks', { n: 4 }), accept({ size: 9 })),
    `${last().answer} {"action":"accept","content":{"size":9}}`);
  // A task that nobody waits for any more is cancelled.
  const run = await hostler.begin(who, `[tool sdk__${call('later_never', { n: 5 })}]`, ['sdk__*']);
  await hostler.eventually('the wait', async () => {
    const { status } = await hostler.done('GET', `/v1/runs/${run}`, { token: who.token });
    return status === 'waiting_for_input';
  });
  await hostler.done('POST', `/v1/runs/${run}:cancel`, { token: who.token });
  await hostler.eventually('the cancellation', () => peer.tasks.cancelled === 1);
}

// Each call has a number of its own; n tells its calls apart in both logs.
async function underKills(who) {
  const runner = new Runner();
  const runs = [];
  let n = 1000;
  for (let kill = 0; kill < kills; ++kill) {
    const ms = () => Math.floor(Math.random() * 300);
    const made = [
      `sdk__${call('once', { n: n += 1, ms: ms() })}`,
      `sdk__${call('again', { n: n += 1, ms: ms() })}`,
      `sdk__${call('later', { n: n += 1, ms: ms() * 3 })}`,
      `every__${call('echo', { message: String(n += 1) })}`,
    ];
    runs.push(await hostler.begin(who, `[tools ${made.join(' | ')}] [say done]`,
      ['sdk__*', 'every__*']));
    await pause(Math.random() * 250);
    await runner.kill();
    runner.start();
  }
  return runs;
}

// How often a tool may be called for one tool.call: three times what its server calls idempotent.
const mostOf = { sdk__once: 1, sdk__again: 3, sdk__later: 1, every__echo: 3 };
const codeOf = { sdk__once: 'tool.outcome_unknown', sdk__again: 'tool.timeout',
  sdk__later: 'tool.outcome_unknown', every__echo: 'tool.timeout' };

async function compare(who, runs, logged) {
  const counts = { called: 0, answered: 0, unknown: 0, crashed: 0 };
  const known = new Set();
  for (const run of runs) {
    const { status } = await hostler.eventually(`the end of ${run}`, async () => {
      const shown = await hostler.done('GET', `/v1/runs/${run}`, { token: who.token });
      return ['completed', 'failed', 'cancelled'].includes(shown.status) && shown;
    }, 180_000);
    const story = await hostler.story(who, run);
    const results = new Map(story.filter(({ type }) => type === 'tool.result')
      .map((result) => [result.tool_call_id, result]));
    if (status !== 'completed') counts.crashed += 1;
    for (const made of story.filter(({ type }) => type === 'tool.call')) {
      const n = made.arguments.n ?? Number(made.arguments.message);
      const entries = logged().filter((entry) => entry.n === n);
      const result = results.get(made.tool_call_id);
      const told = `${run} ${made.tool_name} ${n}: ${JSON.stringify(result)}, `
        + JSON.stringify(entries);
      known.add(n);
      counts.called += 1;
      assert.ok(entries.length <= mostOf[made.tool_name], `called too often: ${told}`);
      // A run whose daemons died three times in a row without a step ends there.
      assert.ok(result || status === 'failed', `a call without result: ${told}`);
      if (!result) continue;
      if (result.error) {
        counts.unknown += 1;
        assert.strictEqual(result.error.code, codeOf[made.tool_name], told);
      } else {
        counts.answered += 1;
        const is_its = entries.some(({ answer }) => answer === result.result);
        assert.ok(is_its, `not its answer: ${told}`);
      }
    }
  }
  const stray = logged().filter((entry) => entry.n > 1000 && !known.has(entry.n));
  assert.deepStrictEqual(stray, [], 'called without a tool.call');
  return counts;
}

async function main() {
  await hostler.prepare();
  const { everything, sdkServer } = await import('./mcp_peers.mjs');
  const peers = { every: await everything(), sdk: await sdkServer() };
  try {
    await judge(peers);
  } finally {
    for (const peer of Object.values(peers)) peer.close();
  }
}

async function judge(peers) {
  const who = await hostler.person('judge');
  await hostler.mayRunMany(who);
  const every = await hostler.register(who, peers.every.url, { key: 'every' });
  assert.strictEqual(every.listing.state, 'ok', JSON.stringify(every.listing));
  await checkEverything(who, every);
  const sdk = await hostler.register(who, peers.sdk.url, { key: 'sdk' });
  assert.strictEqual(sdk.listing.state, 'ok', JSON.stringify(sdk.listing));
  await checkSdk(who, sdk, peers.sdk);
  const runs = await underKills(who);
  const counts = await compare(who, runs, () => [...peers.every.log, ...peers.sdk.log]);
  assert.ok(counts.answered > 0, JSON.stringify(counts));
  console.log(`server-everything and the SDK's server, ${kills} kills: ${JSON.stringify(counts)}`);
}

main().then(() => process.exit(0), (error) => {
  console.error(error.stack);
  process.exit(1);
});
