// OpenAI's own client for Node, held against /v1/openai of a private stack: models, chat
// completions whole and streamed, answers by a schema, tools of the caller with the loop that the
// package makes of them, and the class that it makes of each error.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node openai_chat.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const OpenAI = require('openai');
const { account, poorAccount } = require('./ui_account.cjs');

const base = process.env.BASE_URL;

const asking = (content, further = {}) => ({
  model: 'normal@1',
  messages: [{ role: 'user', content }],
  ...further,
});

// A function of the caller's; made collects the arguments of its calls, parsed.
function tool(name, made = []) {
  const parameters = {
    type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const answer = (given) => { made.push(given); return `${name} ${given.n}`; };
  return { type: 'function',
    function: { name, description: name, parameters, parse: JSON.parse, function: answer } };
}
const parcel = { type: 'function', function: { name: 'parcel' } };

const namesOf = (message) => (message.tool_calls ?? []).map((call) => call.function.name);

// What the call throws must be of the class, with the code.
async function refused(call, kind, code) {
  const error = await call().then(() => null, (thrown) => thrown);
  assert.ok(error instanceof kind, `${code}: ${error && error.constructor.name}: ${error}`);
  assert.strictEqual(error.code, code);
  assert.match(error.requestID, /^[0-9a-f]{32}$/);
}

const checks = {
  async 'lists and shows models'(client) {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes('normal@1') && ids.includes('normal'), ids.join(' '));
    assert.strictEqual((await client.models.retrieve('normal@1')).object, 'model');
  },
  async 'answers whole'(client) {
    const { data, request_id: id } = await client.chat.completions
      .create(asking('[say hello there]', { user: 'u-1', temperature: 0.5 }))
      .withResponse();
    assert.strictEqual(data.choices[0].message.content, 'hello there');
    assert.strictEqual(data.choices[0].finish_reason, 'stop');
    const { prompt_tokens: input, completion_tokens: output, total_tokens: all } = data.usage;
    assert.strictEqual(all, input + output);
    assert.match(id, /^[0-9a-f]{32}$/);
  },
  async 'streams'(client) {
    const options = { stream: true, stream_options: { include_usage: true } };
    const stream = await client.chat.completions.create(asking('[say one two three]', options));
    let text = '';
    let usage = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? '';
      usage = chunk.usage ?? usage;
    }
    assert.strictEqual(text, 'one two three');
    assert.ok(usage.completion_tokens > 0);
  },
  async 'says that its model was cut short'(client) {
    for (const reason of ['length', 'content_filter']) {
      const cut = asking(`[say some words][finish ${reason}]`);
      const answer = await client.chat.completions.create(cut);
      const ended = await client.chat.completions.stream(cut).finalChatCompletion().catch((error) => error);
      assert.strictEqual(answer.choices[0].finish_reason, reason);
      assert.strictEqual(answer.choices[0].message.content, 'some words');
      assert.strictEqual(ended.choices[0].finish_reason, reason);
    }
  },
  async 'joins a stream by its helper'(client) {
    const stream = client.chat.completions.stream(asking('[say joined]'));
    assert.strictEqual((await stream.finalChatCompletion()).choices[0].message.content, 'joined');
  },
  async 'fits a schema'(client) {
    const properties = { celsius: { type: 'number' } };
    const schema = { type: 'object', required: ['celsius'], properties };
    const format = { type: 'json_schema', json_schema: { name: 'weather', schema } };
    const answer = await client.chat.completions.create(
      asking('[answer {"celsius":21}]', { response_format: format }));
    assert.deepStrictEqual(JSON.parse(answer.choices[0].message.content), { celsius: 21 });
  },
  async 'ends with calls of the tools'(client) {
    const script = '[tools parcel {"n":7} | order {"n":8}]';
    const answer = await client.chat.completions.create(
      asking(script, { tools: [tool('parcel'), tool('order')] }));
    const [{ message, finish_reason: reason }] = answer.choices;
    assert.strictEqual(reason, 'tool_calls');
    assert.deepStrictEqual(namesOf(message), ['parcel', 'order']);
    assert.deepStrictEqual(JSON.parse(message.tool_calls[1].function.arguments), { n: 8 });
    assert.strictEqual(message.content, null);
  },
  async 'streams calls of the tools'(client) {
    const stream = client.chat.completions.stream(
      asking('[say Wait.][tools parcel {"n":7} | order {"n":8}]',
        { tools: [tool('parcel'), tool('order')] }));
    const seen = [];
    stream.on('tool_calls.function.arguments.done', (call) => seen.push(call.name));
    const [{ message, finish_reason: reason }] = (await stream.finalChatCompletion()).choices;
    assert.strictEqual(reason, 'tool_calls');
    assert.strictEqual(message.content, 'Wait.');
    assert.deepStrictEqual(namesOf(message), ['parcel', 'order']);
    assert.deepStrictEqual(seen, ['parcel', 'order']);
  },
  async 'answers by the loop of its helper'(client) {
    for (const stream of [false, true]) {
      const made = [];
      const runner = client.chat.completions.runTools(asking(
        '[tool parcel {"n":1}][tools order {"n":2} | parcel {"n":3}][say found both]',
        { stream, tools: [tool('parcel', made), tool('order', made)] }));
      assert.strictEqual(await runner.finalContent(), 'found both');
      assert.deepStrictEqual(made, [{ n: 1 }, { n: 2 }, { n: 3 }]);
      const results = runner.messages.filter(({ role }) => role === 'tool');
      assert.deepStrictEqual(results.map(({ content }) => content),
        ['parcel 1', 'order 2', 'parcel 3']);
    }
  },
  async 'calls as tool_choice and parallel_tool_calls say'(client) {
    const calls = async (script, wish) => {
      const answer = await client.chat.completions.create(
        asking(script, { tools: [tool('parcel'), tool('order')], ...wish }));
      return namesOf(answer.choices[0].message);
    };
    const both = '[tools parcel {"n":7} | order {"n":8}]';
    assert.deepStrictEqual(await calls('[tool parcel {"n":7}]', { tool_choice: 'required' }),
      ['parcel']);
    assert.deepStrictEqual(await calls('[tool parcel {"n":7}]', { tool_choice: parcel }),
      ['parcel']);
    assert.deepStrictEqual(await calls(both, { tool_choice: 'none' }), []);
    assert.deepStrictEqual(await calls(both, { parallel_tool_calls: true }), ['parcel', 'order']);
    assert.deepStrictEqual(await calls(both, { parallel_tool_calls: false }), ['parcel']);
  },
  // The persona's call and its result, which the client never saw, are what its model is sent.
  async 'goes on with what the persona called'(client) {
    const runner = client.chat.completions.runTools(asking(
      '[say Now.][tool web_fetch {"url":"x"}][say Then.]' +
        '[tools web_fetch {"url":"y"} | parcel {"n":7}][echo-history]',
      { tools: [tool('parcel')] }));
    const { messages } = JSON.parse(await runner.finalContent());
    const seen = messages.slice(messages.findIndex(({ role }) => role === 'user') + 1);
    assert.deepStrictEqual(seen.map(({ role }) => role),
      ['assistant', 'tool', 'assistant', 'tool', 'tool']);
    assert.deepStrictEqual(namesOf(seen[0]), ['web_fetch']);
    assert.deepStrictEqual(namesOf(seen[2]), ['web_fetch', 'parcel']);
    assert.deepStrictEqual([seen[0].content, seen[2].content], ['Now.', 'Then.']);
    for (const nth of [1, 3]) {
      assert.match(seen[nth].content, /^{"error":{"code":"tool\.[a-z_]+"/);
    }
    assert.strictEqual(seen[3].tool_call_id, seen[2].tool_calls[0].id);
    assert.strictEqual(seen[4].content, 'parcel 7');
    assert.deepStrictEqual(runner.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant']);
  },
  // What this package answers goes back as it is, and as other languages' write it down.
  async 'takes its own answers back'(client) {
    const question = { role: 'user', content: '[say one]' };
    const first = await client.chat.completions.create(asking('[say one]'));
    const [{ message }] = first.choices;
    const dumped = { ...message, tool_calls: null, function_call: null, audio: null, annotations: null };
    for (const kept of [message, dumped]) {
      const answer = await client.chat.completions.create({
        model: 'normal@1', messages: [question, kept, { role: 'user', content: '[echo-history]' }] });
      const told = JSON.parse(answer.choices[0].message.content).messages.filter(({ role }) => role === 'assistant');
      assert.deepStrictEqual(told, [{ role: 'assistant', content: 'one' }]);
    }
    const called = { id: 'c', type: 'function', function: { name: 'parcel', arguments: '{}' } };
    const unanswered = { model: 'normal@1',
      messages: [question, { role: 'assistant', content: null, tool_calls: [called] }, question] };
    await refused(() => client.chat.completions.create(unanswered), OpenAI.BadRequestError, 'validation.error');
  },
  async 'tells errors by their classes'(client) {
    const create = (body) => () => client.chat.completions.create(body);
    const unknown = asking('a', { model: 'nobody' });
    await refused(create(unknown), OpenAI.NotFoundError, 'model_not_found');
    await refused(create(asking('a', { n: 2 })), OpenAI.BadRequestError, 'unsupported_parameter');
    const twice = { tools: [parcel, parcel] };
    await refused(create(asking('a', twice)), OpenAI.BadRequestError, 'tools.name_taken');
    const old = { functions: [{ name: 'f' }] };
    await refused(create(asking('a', old)), OpenAI.BadRequestError, 'unsupported_parameter');
    await refused(create(asking('[status 400]')), OpenAI.InternalServerError, 'model.rejected');
    const stranger = client.withOptions({ apiKey: `${client.apiKey}x` });
    await refused(() => stranger.models.list(), OpenAI.AuthenticationError, 'auth.invalid_api_key');
  },
  async 'is told once that nothing is left'(client, { poor }) {
    let tries = 0;
    const counting = (...request) => {
      ++tries;
      return fetch(...request);
    };
    const broke = client.withOptions({ apiKey: poor.key, maxRetries: 2, fetch: counting });
    for (const stream of [false, true]) {
      await refused(() => broke.chat.completions.create(asking('a', { model: poor.model, stream })),
        OpenAI.RateLimitError, 'insufficient_quota');
    }
    assert.strictEqual(tries, 2, 'it was asked again');
  },
};

async function main() {
  const callers = { ...await account(), poor: await poorAccount() };
  let count = 0;
  for (const path of ['/v1/openai', '/v1/openai/v1']) {
    const client = new OpenAI({ apiKey: callers.key, baseURL: base + path, maxRetries: 0 });
    for (const [name, check] of Object.entries(checks)) {
      await check(client, callers).catch((error) => { throw new Error(`${path} ${name}: ${error.stack}`); });
      ++count;
    }
  }
  const { VERSION: version } = require('openai/version');
  console.log(`openai ${version}: ${count} checks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
