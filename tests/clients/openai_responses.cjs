// OpenAI's own client for Node, held against /v1/openai/responses of a private stack: created,
// streamed, parsed, in the background, gone on with behind any event, chained, deleted; and the
// class that it makes of each error.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node openai_responses.cjs PACKAGE    openai or openai-7; see run
'use strict';

const assert = require('node:assert');
const { z } = require('zod');
const { account, poorAccount } = require('./ui_account.cjs');

const name = process.argv[2] || 'openai';
const OpenAI = require(name);
const { zodResponsesFunction, zodTextFormat } = require(`${name}/helpers/zod`);

const base = process.env.BASE_URL;

const asking = (input, further = {}) => ({ model: 'normal@1', input, ...further });

// What the call throws must be of the class, with the code.
async function refused(call, kind, code) {
  const error = await call().then(() => null, (thrown) => thrown);
  assert.ok(error instanceof kind, `${code}: ${error && error.constructor.name}: ${error}`);
  assert.strictEqual(error.code, code);
  return error;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

function ascends(events) {
  for (let i = 1; i < events.length; ++i) {
    assert.ok(events[i].sequence_number > events[i - 1].sequence_number, JSON.stringify(events[i]));
  }
}

const weather = {
  type: 'function',
  name: 'weather',
  description: 'The weather somewhere.',
  parameters: {
    type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false,
  },
  strict: true,
};

const outputOf = (call) => (
  { type: 'function_call_output', call_id: call.call_id, output: '{"celsius":21}' });

const checks = {
  async 'answers whole'(client) {
    const further = { instructions: 'Be brief.', metadata: { a: 'b' }, user: 'u-1', temperature: 0.5 };
    const answer = await client.responses.create(asking('[say hello there]', further));
    assert.strictEqual(answer.output_text, 'hello there');
    assert.strictEqual(answer.status, 'completed');
    assert.strictEqual(answer.instructions, 'Be brief.');
    assert.deepStrictEqual(answer.metadata, { a: 'b' });
    const { input_tokens: input, output_tokens: output, total_tokens: sum } = answer.usage;
    assert.strictEqual(sum, input + output);
    assert.ok(input > 0 && output > 0);
    const { cached_tokens: read, cache_write_tokens: written } = answer.usage.input_tokens_details;
    assert.deepStrictEqual([read, written], [0, 0]);
    assert.match(answer.id, /^resp_[0-9a-f-]{36}$/);
    assert.match(answer.conversation.id, /^conv_[0-9a-f-]{36}$/);
    assert.ok(Math.abs(answer.created_at - Date.now() / 1000) < 60);
    const again = await client.responses.retrieve(answer.id);
    assert.deepStrictEqual(again, answer);
  },
  async 'streams'(client) {
    const stream = await client.responses.create(
      asking('[think hm hm][say one two three]', { stream: true }));
    const events = await all(stream);
    ascends(events);
    const text = events.filter((event) => event.type === 'response.output_text.delta');
    assert.strictEqual(text.map((event) => event.delta).join(''), 'one two three');
    const thoughts = events.filter((event) => event.type === 'response.reasoning_text.delta');
    assert.strictEqual(thoughts.map((event) => event.delta).join(''), 'hm hm');
    assert.strictEqual(events[0].type, 'response.created');
    const last = events.at(-1);
    assert.strictEqual(last.type, 'response.completed');
    assert.deepStrictEqual(last.response.output.map((item) => item.type), ['reasoning', 'message']);
    const { output_text: ours, ...stored } = await client.responses.retrieve(last.response.id);
    assert.strictEqual(ours, 'one two three');
    assert.deepStrictEqual(stored, last.response);
  },
  async 'is incomplete when its model was cut short'(client) {
    for (const [reason, told] of [['length', 'max_output_tokens'], ['content_filter', 'content_filter']]) {
      const script = `[say some words][finish ${reason}]`;
      const answer = await client.responses.create(asking(script));
      assert.deepStrictEqual([answer.status, answer.incomplete_details.reason], ['incomplete', told]);
      assert.strictEqual(answer.output_text, 'some words');
      assert.deepStrictEqual(await client.responses.retrieve(answer.id), answer);
      const last = (await all(await client.responses.create(asking(script, { stream: true })))).at(-1);
      assert.deepStrictEqual([last.type, last.response.status], ['response.incomplete', 'incomplete']);
      const next = await client.responses.create(
        asking('[echo-history]', { previous_response_id: answer.id }));
      assert.ok(next.output_text.includes('some words'));
    }
  },
  async 'joins a stream by its helper'(client) {
    const stream = client.responses.stream(asking('[think hm][say joined]'));
    const deltas = [];
    stream.on('response.output_text.delta', (event) => deltas.push(event.snapshot));
    const answer = await stream.finalResponse();
    assert.strictEqual(answer.output_text, 'joined');
    assert.strictEqual(deltas.at(-1), 'joined');
    const again = client.responses.stream({ response_id: answer.id, starting_after: 40 });
    assert.strictEqual((await again.finalResponse()).output_text, 'joined');
  },
  async 'fits a schema'(client) {
    const Weather = z.object({ celsius: z.number(), words: z.array(z.string()) });
    const text = { format: zodTextFormat(Weather, 'weather') };
    const answer = await client.responses.parse(
      asking('[answer {"celsius":"warm"}] [answer {"celsius":21,"words":["mild"]}]', { text }));
    assert.deepStrictEqual(answer.output_parsed, { celsius: 21, words: ['mild'] });
    const streamed = client.responses.stream(
      asking('[answer {"celsius":"warm"}] [answer {"celsius":21,"words":[]}]', { text }));
    let joined = '';
    streamed.on('response.output_text.delta', (event) => { joined += event.delta; });
    const final = await streamed.finalResponse();
    assert.deepStrictEqual(final.output_parsed, { celsius: 21, words: [] });
    assert.strictEqual(joined, '{"celsius":21,"words":[]}');
  },
  async 'works in the background'(client) {
    const begun = await client.responses.create(
      asking('[delay 20][words 20]', { background: true }));
    assert.ok(['queued', 'in_progress'].includes(begun.status), begun.status);
    assert.strictEqual(begun.background, true);
    let answer = begun;
    for (let i = 0; i < 200 && ['queued', 'in_progress'].includes(answer.status); ++i) {
      await new Promise((resolve) => { setTimeout(resolve, 50); });
      answer = await client.responses.retrieve(begun.id);
    }
    assert.strictEqual(answer.status, 'completed');
    assert.strictEqual(answer.created_at, begun.created_at);
    assert.strictEqual(answer.output_text.split(' ').length, 20);
  },
  async 'is gone on with behind any event'(client) {
    const begun = await client.responses.create(
      asking('[delay 10][think hm hm][words 12]', { background: true, stream: true }));
    const seen = [];
    for await (const event of begun) {
      seen.push(event);
      if (seen.length === 9) break;
    }
    const { id } = seen[0].response;
    const rest = await all(await client.responses.retrieve(
      id, { stream: true, starting_after: seen.at(-1).sequence_number }));
    const whole = await all(await client.responses.retrieve(id, { stream: true }));
    assert.deepStrictEqual([...seen, ...rest], whole);
    ascends(whole);
    for (let i = 0; i < whole.length; i += 1 + Math.floor(whole.length / 12)) {
      const behind = { stream: true, starting_after: whole[i].sequence_number };
      assert.deepStrictEqual(await all(await client.responses.retrieve(id, behind)),
        whole.slice(i + 1));
    }
    const past = { stream: true, starting_after: 10 ** 12 };
    assert.deepStrictEqual(await all(await client.responses.retrieve(id, past)), []);
  },
  async 'is cancelled'(client) {
    const begun = await client.responses.create(
      asking('[delay 100][words 500]', { background: true }));
    const stream = await client.responses.retrieve(begun.id, { stream: true });
    const following = all(stream);
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    const answer = await client.responses.cancel(begun.id);
    assert.strictEqual(answer.status, 'cancelled');
    assert.strictEqual((await client.responses.retrieve(begun.id)).status, 'cancelled');
    const last = (await following).at(-1);
    assert.strictEqual(last.type, 'response.incomplete');
    assert.strictEqual(last.response.status, 'cancelled');
    assert.strictEqual((await client.responses.cancel(begun.id)).status, 'cancelled');
  },
  async 'is chained'(client) {
    const first = await client.responses.create(asking('[say one]', { instructions: 'First only.' }));
    const second = await client.responses.create(
      asking('[say two]', { previous_response_id: first.id }));
    assert.strictEqual(second.previous_response_id, first.id);
    assert.strictEqual(second.conversation.id, first.conversation.id);
    const heard = async (previous) => {
      const further = typeof previous === 'string' ? { previous_response_id: previous } : previous;
      const answer = await client.responses.create(asking('[echo-history]', further));
      const { messages } = JSON.parse(answer.output_text);
      return [answer, messages.filter((message) => message.role !== 'system')
        .map((message) => message.content)];
    };
    const [third, texts] = await heard(second.id);
    assert.deepStrictEqual(texts, ['[say one]', 'one', '[say two]', 'two', '[echo-history]']);
    assert.ok(!JSON.stringify(third.output).includes('First only.'));
    // An older one goes on in a thread of its own.
    const [forked, older] = await heard(first.id);
    assert.deepStrictEqual(older, ['[say one]', 'one', '[echo-history]']);
    assert.notStrictEqual(forked.conversation.id, first.conversation.id);
    const [, later] = await heard(forked.id);
    assert.deepStrictEqual(later.slice(0, 3), older);
    assert.strictEqual(later.length, 5);
    const [, talked] = await heard({ conversation: first.conversation.id });
    assert.strictEqual(talked.length, 7);
    const [, objects] = await heard({ conversation: { id: first.conversation.id } });
    assert.strictEqual(objects.length, 9);
    const [lost, unstored] = await heard({ previous_response_id: second.id, store: false });
    assert.deepStrictEqual(unstored, ['[say one]', 'one', '[say two]', 'two', '[echo-history]']);
    await refused(() => client.responses.retrieve(lost.id), OpenAI.NotFoundError, 'runs.not_found');
  },
  async 'talks in a conversation that it opened'(client) {
    const metadata = { topic: 'demo' };
    const { id, object } = await client.conversations.create({ metadata });
    assert.strictEqual(object, 'conversation');
    await client.responses.create(asking('[say one]', { conversation: id }));
    const second = await client.responses.create(asking('[echo-history]', { conversation: { id } }));
    assert.strictEqual(second.conversation.id, id);
    assert.ok(second.output_text.includes('[say one]'));
    assert.deepStrictEqual((await client.conversations.retrieve(id)).metadata, metadata);
    const changed = await client.conversations.update(id, { metadata: { topic: 'other' } });
    assert.deepStrictEqual(changed.metadata, { topic: 'other' });
    assert.ok((await client.conversations.delete(id)).deleted);
    await refused(() => client.conversations.retrieve(id), OpenAI.NotFoundError, 'threads.not_found');
    await refused(() => client.responses.retrieve(second.id), OpenAI.NotFoundError, 'runs.not_found');
  },
  async 'lists its input'(client) {
    const input = [
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Hi ' }, { type: 'input_text', text: 'you' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] },
      { role: 'user', content: '[say done]' },
    ];
    const answer = await client.responses.create(asking(input));
    const items = [];
    const options = { order: 'asc', limit: 2 };
    for await (const item of client.responses.inputItems.list(answer.id, options)) items.push(item);
    assert.deepStrictEqual(items.map((item) => [item.role, item.content[0].text]), [
      ['developer', 'Be kind.'], ['user', 'Hi you'], ['assistant', 'Hello.'], ['user', '[say done]']]);
    const newest = await client.responses.inputItems.list(answer.id, { limit: 1 });
    assert.deepStrictEqual(newest.data, [items[3]]);
    assert.ok(newest.has_more);
  },
  async 'is deleted with what follows it'(client) {
    const first = await client.responses.create(asking('[say one]'));
    const further = (previous) => ({ previous_response_id: previous });
    const second = await client.responses.create(asking('[say two]', further(first.id)));
    const third = await client.responses.create(asking('[say three]', further(second.id)));
    await client.responses.delete(second.id);
    for (const id of [second.id, third.id]) {
      await refused(() => client.responses.retrieve(id), OpenAI.NotFoundError, 'runs.not_found');
      await refused(() => client.responses.retrieve(id, { stream: true }), OpenAI.NotFoundError,
        'runs.not_found');
    }
    const next = await client.responses.create(asking('[echo-history]', further(first.id)));
    assert.strictEqual(next.conversation.id, first.conversation.id);
    assert.ok(!next.output_text.includes('two') && next.output_text.includes('one'));
  },
  async 'calls its caller\'s tools'(client) {
    const input = [{ role: 'user', content: '[say Let me ask.][tool weather {"city":"Ulm"}] [say warm]' }];
    const tools = [weather];
    const first = await client.responses.create(asking(input, { tools, store: false }));
    const call = first.output.at(-1);
    assert.deepStrictEqual([call.type, call.name, call.arguments],
      ['function_call', 'weather', '{"city":"Ulm"}']);
    assert.strictEqual(first.output_text, 'Let me ask.');
    assert.deepStrictEqual(first.tools[0].name, 'weather');
    // With the whole history.
    const whole = [...input, ...first.output, outputOf(call)];
    const second = await client.responses.create(asking(whole, { tools, store: false }));
    assert.strictEqual(second.output_text, 'warm');
  },
  async 'goes on with outputs alone'(client) {
    const script = '[say Both.][tools weather {"city":"Ulm"} | weather {"city":"Bonn"}] [say warm]';
    const stream = client.responses.stream(asking(script, { tools: [weather] }));
    const seen = [];
    stream.on('response.function_call_arguments.done', (event) => seen.push(event.arguments));
    const first = await stream.finalResponse();
    assert.deepStrictEqual(seen, ['{"city":"Ulm"}', '{"city":"Bonn"}']);
    const calls = first.output.filter((item) => item.type === 'function_call');
    const further = (input, previous = first.id) => asking(
      input, { tools: [weather], previous_response_id: previous });
    const partly = await refused(() => client.responses.create(further([outputOf(calls[0])])),
      OpenAI.BadRequestError, 'validation.error');
    assert.strictEqual(partly.param, 'input');
    const strange = { type: 'function_call_output', call_id: 'call_x', output: '1' };
    await refused(() => client.responses.create(further([strange])), OpenAI.BadRequestError,
      'validation.error');
    const second = await client.responses.create(further(calls.map(outputOf)));
    assert.strictEqual(second.output_text, 'warm');
    assert.strictEqual(second.conversation.id, first.conversation.id);
    const items = await client.responses.inputItems.list(second.id, { order: 'asc' });
    assert.deepStrictEqual(items.data.map((item) => [item.type, item.call_id, item.output]),
      calls.map((call) => ['function_call_output', call.call_id, '{"celsius":21}']));
    // A later response of the thread is told all of it, each thing once.
    for (const previous of [second.id, first.id]) {
      const input = previous === second.id ? '[echo-history]' : [...calls.map(outputOf),
        { role: 'user', content: '[echo-history]' }];
      const third = await client.responses.create(further(input, previous));
      const { messages } = JSON.parse(third.output_text);
      const told = messages.filter((message) => message.role !== 'system');
      const roles = ['user', 'assistant', 'tool', 'tool', ...(previous === second.id ? ['assistant'] : []), 'user'];
      assert.deepStrictEqual(told.map((message) => message.role), roles);
      assert.strictEqual(told[1].content, 'Both.');
      assert.deepStrictEqual(told[1].tool_calls.map((call) => call.id), calls.map((call) => call.call_id));
      assert.strictEqual(told[2].content, '{"celsius":21}');
    }
  },
  async 'parses the arguments of its tools'(client) {
    const tools = [zodResponsesFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })];
    const answer = await client.responses.parse(asking('[tool weather {"city":"Ulm"}]', { tools }));
    assert.deepStrictEqual(answer.output[0].parsed_arguments, { city: 'Ulm' });
    const chosen = asking('[say no tool]', { tools, tool_choice: { type: 'function', name: 'other' } });
    const error = await refused(() => client.responses.create(chosen), OpenAI.BadRequestError,
      'validation.error');
    assert.strictEqual(error.param, 'tool_choice.name');
  },
  async 'tells errors by their classes'(client) {
    const create = (input, further) => () => client.responses.create(asking(input, further));
    await refused(create('a', { model: 'nobody' }), OpenAI.NotFoundError, 'model_not_found');
    await refused(create('a', { reasoning: { effort: 'high' } }), OpenAI.BadRequestError,
      'unsupported_parameter');
    const search = await refused(create('a', { tools: [{ type: 'web_search' }] }),
      OpenAI.BadRequestError, 'unsupported_parameter');
    assert.match(search.param, /^tools/);
    await refused(create('[status 400]'), OpenAI.InternalServerError, 'model.rejected');
    await refused(create('a', { previous_response_id: 'resp_x' }), OpenAI.NotFoundError,
      'runs.not_found');
    const busy = await client.responses.create(asking('[delay 50][words 100]', { background: true }));
    const conflict = await refused(create('a', { previous_response_id: busy.id }),
      OpenAI.ConflictError, 'runs.thread_busy');
    assert.strictEqual(conflict.headers.get('x-should-retry'), 'false');
    await client.responses.cancel(busy.id);
    const failed = await client.responses.create(asking('[status 400]', { stream: true }));
    const last = (await all(failed)).at(-1);
    assert.strictEqual(last.type, 'response.failed');
    assert.strictEqual(last.response.error.code, 'model.rejected');
    const stored = await client.responses.retrieve(last.response.id);
    assert.strictEqual(stored.status, 'failed');
    const stranger = client.withOptions({ apiKey: `${client.apiKey}x` });
    await refused(() => stranger.responses.retrieve(busy.id), OpenAI.AuthenticationError,
      'auth.invalid_api_key');
  },
  async 'is told once that nothing is left'(client, { poor }) {
    let tries = 0;
    const counting = (...request) => {
      ++tries;
      return fetch(...request);
    };
    const broke = client.withOptions({ apiKey: poor.key, maxRetries: 2, fetch: counting });
    for (const further of [{}, { stream: true }, { background: true }]) {
      await refused(() => broke.responses.create(asking('a', { model: poor.model, ...further })),
        OpenAI.RateLimitError, 'insufficient_quota');
    }
    assert.strictEqual(tries, 3, 'it was asked again');
  },
};

async function main() {
  const callers = { ...await account(), poor: await poorAccount() };
  let count = 0;
  for (const path of ['/v1/openai', '/v1/openai/v1']) {
    const client = new OpenAI({ apiKey: callers.key, baseURL: base + path, maxRetries: 0 });
    for (const [what, check] of Object.entries(checks)) {
      await check(client, callers).catch((error) => { throw new Error(`${path} ${what}: ${error.stack}`); });
      ++count;
    }
  }
  const { VERSION: version } = require(`${name}/version`);
  console.log(`responses of openai ${version}: ${count} checks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
