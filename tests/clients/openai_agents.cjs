// The package @openai/agents as a client of /v1/openai/responses of a private stack: an agent with a
// tool hands off to another one, whole and streamed, with the history sent again and with what is
// stored; an answer that fits a schema.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node openai_agents.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const path = require('node:path');
const { z } = require('zod');
const {
  Agent, OpenAIProvider, Runner, handoff, setTracingDisabled, tool,
} = require('@openai/agents');

const base = process.env.BASE_URL;

async function post(route, body, token) {
  const headers = { 'content-type': 'application/json' };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(base + route, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.ok(answer.status < 300, `${route}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

// The fake model counts what was answered since the last message of the user: its script has a turn
// for each agent.
function agents() {
  const asked = [];
  const weather = tool({
    name: 'weather',
    description: 'The weather somewhere.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => { asked.push(city); return `21 degrees in ${city}`; },
  });
  const expert = new Agent({
    name: 'Expert', instructions: 'You know the weather.', model: 'normal@1', tools: [weather],
  });
  const desk = new Agent({
    name: 'Desk', instructions: 'You hand everything off.', model: 'normal@1', handoffs: [handoff(expert)],
  });
  return { desk, expert, asked };
}

const script = '[tool transfer_to_Expert {}] [tool weather {"city":"Ulm"}] [say It is warm in Ulm.]';

function check(result, asked, expert) {
  assert.strictEqual(result.finalOutput, 'It is warm in Ulm.');
  assert.deepStrictEqual(asked, ['Ulm']);
  assert.strictEqual(result.lastAgent.name, expert.name);
  assert.ok(result.runContext.usage.totalTokens > 0);
}

const checks = {
  async 'hands off'(runner) {
    const { desk, expert, asked } = agents();
    const result = await runner.run(desk, script);
    check(result, asked, expert);
    // Its history goes on as the input of the next run.
    const input = [...result.history, { role: 'user', content: '[say And cold in Bonn.]' }];
    assert.strictEqual((await runner.run(expert, input)).finalOutput, 'And cold in Bonn.');
    const stored = { previousResponseId: result.lastResponseId };
    const further = await runner.run(expert, '[echo-history]', stored);
    const { messages } = JSON.parse(further.finalOutput);
    assert.ok(messages.some((message) => message.content === 'It is warm in Ulm.'));
  },
  async 'hands off in a stream'(runner) {
    const { desk, expert, asked } = agents();
    const result = await runner.run(desk, script, { stream: true });
    let text = '';
    for await (const event of result) {
      const { data } = event;
      if (event.type === 'raw_model_stream_event' && data.type === 'output_text_delta') text += data.delta;
    }
    await result.completed;
    assert.strictEqual(text, 'It is warm in Ulm.');
    check(result, asked, expert);
  },
  async 'fits a schema'(runner) {
    const outputType = z.object({ celsius: z.number() });
    const agent = new Agent({ name: 'Measure', instructions: 'Measure.', model: 'normal@1', outputType });
    const result = await runner.run(agent, '[answer {"celsius":21}]');
    assert.deepStrictEqual(result.finalOutput, { celsius: 21 });
  },
};

async function main() {
  setTracingDisabled(true);
  const login = `agents${process.pid}`;
  const { access_token: token } = await post('/v1/auth/register', {
    login, password: 'correct horse', email: `${login}@example.org` });
  const { key } = await post('/v1/api-keys', { name: 'agents' }, token);
  let count = 0;
  for (const place of ['/v1/openai', '/v1/openai/v1']) {
    const modelProvider = new OpenAIProvider({ apiKey: key, baseURL: base + place, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    for (const [what, one] of Object.entries(checks)) {
      await one(runner).catch((error) => { throw new Error(`${place} ${what}: ${error.stack}`); });
      ++count;
    }
  }
  const folder = path.dirname(require.resolve('@openai/agents'));
  const { version } = require(path.join(folder, '../package.json'));
  console.log(`@openai/agents ${version}: ${count} checks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
