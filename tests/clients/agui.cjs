// The official client of AG-UI, with its verification on, held against /v1/agui of a private stack:
// text, reasoning, tools that run here and tools of the client, interrupts and what resumes them,
// errors, a thread by its name, and a page of another origin.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node agui.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const { HttpAgent } = require('@ag-ui/client');

const base = process.env.BASE_URL;
const origin = process.env.HOSTLER_HTTP_CORS_ORIGINS;

async function post(path, body, token) {
  const headers = { 'content-type': 'application/json' };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

let count = 0;
const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
};

// An agent that notes what it is told.
class Noting extends HttpAgent {
  constructor(key, further = {}) {
    super({ url: `${base}/v1/agui`, headers: { Authorization: `Bearer ${key}` }, ...further });
    this.events = [];
    this.subscribe({ onEvent: ({ event }) => { this.events.push(event); } });
    this.heads = [];
    const fetching = this.fetch;
    this.fetch = async (url, init) => {
      const answer = await fetching(url, init);
      this.heads.push(answer.headers);
      return answer;
    };
  }

  async say(content, parameters = {}) {
    this.addMessage({ id: `m${++count}`, role: 'user', content });
    return this.go(parameters);
  }

  // What one run of the protocol tells.
  async go(parameters = {}) {
    this.events = [];
    const runId = `run ${++count}`;
    await this.runAgent({ runId, ...parameters });
    assert.deepStrictEqual([this.events[0].type, this.events[0].threadId, this.events[0].runId],
      ['RUN_STARTED', this.threadId, runId]);
    assert.match(this.heads.at(-1).get('x-hostler-run'), /^[0-9a-f-]{36}$/);
    return this.events;
  }

  last() { return this.events.at(-1); }
  text() {
    const said = this.messages.filter((message) => message.role === 'assistant');
    return said.map((message) => message.content ?? '').join('');
  }

  types() { return this.events.map((event) => event.type); }
}

// Anything that the client warns of is a deviation from its schema.
const warnings = [];
console.warn = (...words) => warnings.push(words.join(' '));

const answered = (agent, id, content) =>
  agent.addMessage({ id: `m${++count}`, role: 'tool', toolCallId: id, content });

const checks = {
  async 'tells text and what it took'(agent) {
    await agent.say('[say hello there]');
    assert.strictEqual(agent.text(), 'hello there');
    assert.deepStrictEqual(agent.last().outcome, { type: 'success' });
    assert.ok(agent.last().usage[0].outputTokens > 0);
  },
  async 'tells reasoning'(agent) {
    await agent.say('[think let me see] [say done]');
    const thoughts = agent.messages.filter((message) => message.role === 'reasoning');
    assert.deepStrictEqual(thoughts.map((message) => message.content), ['let me see']);
    assert.strictEqual(agent.text(), 'done');
  },
  async 'tells its context to the model'(agent) {
    await agent.say('[echo-history]', { context: [{ description: 'The open page', value: '/orders' }] });
    const [system] = JSON.parse(agent.text()).messages;
    assert.strictEqual(system.role, 'system');
    assert.ok(system.content.endsWith('The open page:\n/orders'), system.content);
  },
  async 'tells tools that run here'(agent) {
    await agent.say('[say look] [tool web_search {"query":"x"}] [say found]');
    const results = agent.messages.filter((message) => message.role === 'tool');
    assert.strictEqual(results.length, 1);
    const owner = agent.messages.find((message) => message.toolCalls?.length);
    assert.strictEqual(owner.content, 'look');
    assert.strictEqual(owner.toolCalls[0].id, results[0].toolCallId);
    assert.deepStrictEqual(JSON.parse(owner.toolCalls[0].function.arguments), { query: 'x' });
    assert.strictEqual(agent.text(), 'lookfound');
  },
  async 'leaves a tool to the client and goes on with its result'(agent) {
    const tools = [weather];
    const script = '[tools web_search {"query":"x"} | weather {"city":"Rome"}] [say sunny]';
    await agent.say(script, { tools });
    const [id] = agent.last().outcome.pendingToolCallIds;
    const first = agent.heads.at(-1).get('x-hostler-run');
    assert.strictEqual(agent.messages.filter((message) => message.role === 'tool').length, 1);
    answered(agent, id, '{"celsius":30}');
    await agent.go({ tools });
    assert.strictEqual(agent.heads.at(-1).get('x-hostler-run'), first);
    assert.strictEqual(agent.text(), 'sunny');
    assert.ok(!agent.types().includes('TOOL_CALL_START'));
    assert.strictEqual(agent.messages.filter((message) => message.role === 'tool').length, 2);
  },
  async 'is interrupted by a confirmation'(agent, { persona }) {
    const forwardedProps = { persona_id: persona };
    for (const approved of [true, false]) {
      await agent.say('[tool web_search {"query":"x"}] [say after]', { forwardedProps });
      const [interrupt] = agent.pendingInterrupts;
      assert.strictEqual(interrupt.reason, 'tool_call');
      assert.strictEqual(interrupt.responseSchema.required[0], 'approved');
      const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved } }];
      await agent.go({ resume });
      const result = agent.events.find((event) => event.type === 'TOOL_CALL_RESULT');
      assert.strictEqual(result.toolCallId, interrupt.toolCallId);
      assert.strictEqual(/tool\.denied/.test(result.content), !approved);
      assert.deepStrictEqual(agent.pendingInterrupts, []);
    }
    assert.strictEqual(agent.text(), 'afterafter');
  },
  async 'is interrupted by a question'(agent) {
    await agent.say('[ask which?] [say so it is]');
    const [interrupt] = agent.pendingInterrupts;
    assert.strictEqual(interrupt.message, 'which?');
    const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: 'that' }];
    await agent.go({ resume });
    const result = agent.events.find((event) => event.type === 'TOOL_CALL_RESULT');
    assert.deepStrictEqual(JSON.parse(result.content), { answer: 'that' });
    assert.strictEqual(agent.text(), 'so it is');
  },
  async 'abandons an interrupt'(agent) {
    await agent.say('[ask which?] [say so it is]');
    const given = [{ interruptId: agent.pendingInterrupts[0].id, status: 'cancelled' }];
    await agent.go({ resume: given });
    assert.deepStrictEqual(agent.last().outcome, { type: 'cancelled' });
    await agent.say('[ask again?]');
    const resume = [{ interruptId: agent.pendingInterrupts[0].id, status: 'cancelled' }];
    await agent.say('[say something else]', { resume });
    assert.strictEqual(agent.text(), 'something else');
  },
  async 'tells a run that fails'(agent) {
    await agent.say('[status 400]');
    assert.strictEqual(agent.last().type, 'RUN_ERROR');
    assert.strictEqual(agent.last().code, 'model.rejected');
  },
  async 'tells a request that is refused'(agent) {
    const silent = console.error;
    console.error = () => {};
    const error = await agent.go().then(() => null, (thrown) => thrown);
    console.error = silent;
    assert.strictEqual(error.status, 422);
    assert.match(String(error.payload), /must end with a message of the user/);
  },
  async 'knows a thread by its name'(agent, { key }) {
    await agent.say('[say first]');
    const other = new Noting(key, { threadId: agent.threadId });
    await other.say('[echo-history]');
    assert.match(other.text(), /\[say first\]/);
    await new Noting(key, { threadId: `${agent.threadId} other` }).say('[say apart]');
  },
  async 'may be asked by a page of another origin'(agent) {
    const answer = await fetch(agent.url, {
      method: 'OPTIONS',
      headers: {
        origin, 'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-of-the-client',
      },
    });
    assert.match(answer.headers.get('access-control-allow-headers'), /x-of-the-client/);
    agent.headers.Origin = origin;
    await agent.say('[say hello]');
    assert.strictEqual(agent.heads.at(-1).get('access-control-allow-origin'), origin);
    assert.match(agent.heads.at(-1).get('access-control-expose-headers'), /X-Hostler-Run/);
  },
};

async function main() {
  const login = `agui${process.pid}`;
  const { access_token: token } = await post('/v1/auth/register', {
    login, password: 'correct horse', email: `${login}@example.org` });
  const { key } = await post('/v1/api-keys', { name: 'agui' }, token);
  await post('/v1/personas?scope=org', {
    persona_key: 'careful', version: '1', display_name: 'Careful', system_prompt: '',
    tools: ['web_search'], confirm_tools: ['web_search'] }, token);
  for (const [name, check] of Object.entries(checks)) {
    const agent = new Noting(key, { threadId: `thread ${++count}` });
    await check(agent, { key, persona: 'careful@1' })
      .catch((error) => { throw new Error(`${name}: ${error.stack}`); });
  }
  assert.deepStrictEqual(warnings, []);
  const { version } = require('@ag-ui/client/package.json');
  const checked = Object.keys(checks).length;
  console.log(`@ag-ui/client ${version}: ${checked} checks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
