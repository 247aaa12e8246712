// OpenAI's own client for Node, held against /v1/openai of a private stack: models, chat
// completions whole and streamed, answers by a schema, and the class that it makes of each error.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node openai_chat.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const OpenAI = require('openai');

const base = process.env.BASE_URL;

async function post(path, body, token) {
  const headers = { 'content-type': 'application/json' };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

const asking = (content, further = {}) => ({
  model: 'normal@1',
  messages: [{ role: 'user', content }],
  ...further,
});

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
  async 'tells errors by their classes'(client) {
    const create = (body) => () => client.chat.completions.create(body);
    const unknown = asking('a', { model: 'nobody' });
    await refused(create(unknown), OpenAI.NotFoundError, 'model_not_found');
    await refused(create(asking('a', { n: 2 })), OpenAI.BadRequestError, 'unsupported_parameter');
    await refused(create(asking('[status 400]')), OpenAI.InternalServerError, 'model.rejected');
    const stranger = client.withOptions({ apiKey: `${client.apiKey}x` });
    await refused(() => stranger.models.list(), OpenAI.AuthenticationError, 'auth.invalid_api_key');
  },
};

async function main() {
  const login = `sdk${process.pid}`;
  const { access_token: token } = await post('/v1/auth/register', {
    login, password: 'correct horse', email: `${login}@example.org` });
  const { key } = await post('/v1/api-keys', { name: 'sdk' }, token);
  let count = 0;
  for (const path of ['/v1/openai', '/v1/openai/v1']) {
    const client = new OpenAI({ apiKey: key, baseURL: base + path, maxRetries: 0 });
    for (const [name, check] of Object.entries(checks)) {
      await check(client).catch((error) => { throw new Error(`${path} ${name}: ${error.stack}`); });
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
