// The providers of the AI SDK that speak OpenAI's protocols, held against /v1/openai of a private
// stack: @ai-sdk/openai-compatible (chat completions) and @ai-sdk/open-responses (responses), by
// generateText and streamText of the package ai, with text, tools, schemas, what is cut short and
// what fails.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node ai_providers.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const ai = require('ai');
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const { createOpenResponses } = require('@ai-sdk/open-responses');
const { z } = require('zod');
const { account } = require('./ui_account.cjs');

const base = `${process.env.BASE_URL}/v1/openai`;
const providers = {
  'openai-compatible': (apiKey) => createOpenAICompatible({
    name: 'hostler', apiKey, baseURL: base, includeUsage: true, supportsStructuredOutputs: true }),
  'open-responses': (apiKey) => createOpenResponses({
    name: 'hostler', apiKey, url: `${base}/responses` }),
};

// Tools of the app's; made collects what they were called with.
function toolsOf(made) {
  const tool = (name) => ai.tool({
    description: `Tells of the ${name} of a city.`,
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      made.push(`${name} ${city}`);
      return { city, celsius: 21 };
    },
  });
  return { weather: tool('weather'), traffic: tool('traffic') };
}
const script = '[think hm][say Both.][tools weather {"city":"Rome"} | traffic {"city":"Oslo"}]'
  + '[tool weather {"city":"Ulm"}][say done]';
const steps = { stopWhen: ai.stepCountIs(5) };

const checks = {
  async 'generates text'(model) {
    const { text, reasoningText, finishReason, usage } = await ai.generateText({ model, prompt: '[think hm hm][say hello there]' });
    assert.deepStrictEqual([text, reasoningText, finishReason], ['hello there', 'hm hm', 'stop']);
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0, JSON.stringify(usage));
  },
  async 'streams text'(model) {
    const streamed = ai.streamText({ model, prompt: '[think hm hm][say one two three]' });
    let text = '';
    for await (const piece of streamed.textStream) text += piece;
    assert.strictEqual(text, 'one two three');
    assert.deepStrictEqual([await streamed.reasoningText, await streamed.finishReason], ['hm hm', 'stop']);
    assert.ok((await streamed.usage).outputTokens > 0);
  },
  async 'generates with tools'(model) {
    const made = [];
    const answer = await ai.generateText({ model, prompt: script, tools: toolsOf(made), ...steps });
    assert.deepStrictEqual(made, ['weather Rome', 'traffic Oslo', 'weather Ulm']);
    assert.deepStrictEqual(answer.steps.map(({ finishReason }) => finishReason), ['tool-calls', 'tool-calls', 'stop']);
    assert.strictEqual(answer.steps[0].text, 'Both.');
    assert.strictEqual(answer.text, 'done');
  },
  async 'streams with tools'(model) {
    const made = [];
    const streamed = ai.streamText({ model, prompt: script, tools: toolsOf(made), ...steps });
    const types = [];
    for await (const { type } of streamed.fullStream) types.push(type);
    assert.deepStrictEqual(made, ['weather Rome', 'traffic Oslo', 'weather Ulm']);
    assert.strictEqual(types.filter((type) => type === 'tool-result').length, 3);
    assert.ok(!types.includes('error') && !types.includes('tool-error'), types.join(' '));
    assert.deepStrictEqual((await streamed.steps).map(({ text }) => text), ['Both.', '', 'done']);
  },
  // zod writes them as patterns, of which that of an address looks ahead.
  async 'takes tools with formats of zod'(model) {
    const given = { to: 'a.b@c.de', at: '2026-01-01T00:00:00Z', id: '019aa1c0-a800-7000-8000-000000000001', site: 'https://a.b' };
    const inputSchema = z.object({ to: z.email(), at: z.iso.datetime(), id: z.uuid(), site: z.url() });
    const made = [];
    const tools = { mail: ai.tool({ inputSchema, execute: (input) => { made.push(input); return 'sent'; } }) };
    const refused = { ...given, to: '.a@c.de' };
    const prompt = `[tool mail ${JSON.stringify(refused)}][tool mail ${JSON.stringify(given)}][say done]`;
    assert.strictEqual((await ai.generateText({ model, prompt, tools, ...steps })).text, 'done');
    assert.deepStrictEqual(made, [given]);
  },
  // What the model is told of it all: each thing once.
  async 'goes on with the history of the steps'(model) {
    const tools = toolsOf([]);
    const first = [{ role: 'user', content: script }];
    const { responseMessages } = await ai.generateText({ model, messages: first, tools, ...steps });
    const { text } = await ai.generateText({
      model, tools, messages: [...first, ...responseMessages, { role: 'user', content: '[echo-history]' }] });
    const told = JSON.parse(text).messages.filter(({ role }) => role !== 'system');
    assert.deepStrictEqual(told.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'assistant', 'user']);
    assert.deepStrictEqual([told[1].content, told[6].content], ['Both.', 'done']);
    assert.strictEqual(told[2].content, '{"city":"Rome","celsius":21}');
  },
  async 'fits a schema'(model) {
    const output = ai.Output.object({ schema: z.object({ celsius: z.number() }) });
    const prompt = '[answer {"celsius":"warm"}] [answer {"celsius":21}]';
    assert.deepStrictEqual((await ai.generateText({ model, prompt, output })).output, { celsius: 21 });
    assert.deepStrictEqual(await ai.streamText({ model, prompt, output }).output, { celsius: 21 });
    const any = await ai.generateText({ model, prompt: '[answer {"a":[1]}]', output: ai.Output.json() });
    assert.deepStrictEqual(any.output, { a: [1] });
  },
  async 'is told what was cut short'(model) {
    for (const [reason, told] of [['length', 'length'], ['content_filter', 'content-filter']]) {
      const prompt = `[say some words][finish ${reason}]`;
      const whole = await ai.generateText({ model, prompt });
      assert.deepStrictEqual([whole.text, whole.finishReason], ['some words', told]);
      const streamed = ai.streamText({ model, prompt });
      assert.deepStrictEqual([await streamed.text, await streamed.finishReason], ['some words', told]);
    }
  },
  async 'fails as its run does'(model) {
    const failed = await ai.generateText({ model, prompt: '[status 400]', maxRetries: 0 }).catch((error) => error);
    assert.ok(ai.APICallError.isInstance(failed), String(failed));
    assert.strictEqual(failed.statusCode, 502);
    assert.strictEqual(JSON.parse(failed.responseBody).error.code, 'model.rejected');
    const errors = [];
    const streamed = ai.streamText({ model, prompt: '[status 400]', onError: ({ error }) => errors.push(error) });
    await streamed.consumeStream();
    assert.strictEqual(errors.length, 1);
  },
};

async function main() {
  const { key } = await account();
  let count = 0;
  for (const [provider, make] of Object.entries(providers)) {
    for (const [name, check] of Object.entries(checks)) {
      await check(make(key)('normal@1')).catch((error) => { throw new Error(`${provider} ${name}: ${error.stack}`); });
      ++count;
    }
  }
  console.log(`providers of the AI SDK: ${count} checks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
