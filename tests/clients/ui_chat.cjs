// The AI SDK's own client, held against /v1/ui/chat of a private stack: whole conversations driven
// by AbstractChat and DefaultChatTransport of the package ai, as useChat drives them; each chunk
// against the schemas of ai@7 and ai@6; what is read later against what was streamed.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node ui_chat.cjs      with the names of var/env; see run
'use strict';

const assert = require('node:assert');
const ai = require('ai');
const ai6 = require('ai-6');
const { account, call, json } = require('./ui_account.cjs');

const api = `${process.env.BASE_URL}/v1/ui/chat`;
let chunkCount = 0;

async function checkChunks(body) {
  const frames = body.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  for (const frame of frames) {
    assert.ok(frame.startsWith('data: '), frame);
    if (frame === 'data: [DONE]') continue;
    const chunk = JSON.parse(frame.slice(6));
    for (const [name, { asSchema, uiMessageChunkSchema }] of Object.entries({ ai, ai6 })) {
      if (name === 'ai6' && chunk.type === 'tool-approval-response') continue;
      const { success, error } = await asSchema(uiMessageChunkSchema).validate(chunk);
      assert.ok(success, `${name}: ${frame}: ${error}`);
    }
    ++chunkCount;
  }
}

// What useChat is without React.
class Chat extends ai.AbstractChat {
  constructor(token, options = {}) {
    const { body, id = `chat-${crypto.randomUUID()}`, messages = [], ...further } = options;
    const state = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => { state.messages = [...state.messages, message]; },
      popMessage: () => { state.messages = state.messages.slice(0, -1); },
      replaceMessage: (index, message) => { state.messages = state.messages.with(index, structuredClone(message)); },
      snapshot: structuredClone,
    };
    const streams = [];
    const transport = new ai.DefaultChatTransport({
      api,
      headers: { authorization: `Bearer ${token}` },
      body,
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        if (answer.status === 200) {
          assert.strictEqual(answer.headers.get('x-vercel-ai-ui-message-stream'), 'v1');
          this.runId = answer.headers.get('x-hostler-run');
          streams.push(answer.clone().text().then(checkChunks, () => null));
        }
        return answer;
      },
    });
    super({ id, state, transport, ...further });
    this.token = token;
    this.streams = streams;
  }
  async say(text) {
    await this.sendMessage({ text });
  }
  async checked() {
    await Promise.all(this.streams);
    return this;
  }
  get parts() {
    return this.lastMessage.parts;
  }
  texts(type = 'text') {
    return this.parts.filter((part) => part.type === type).map((part) => part.text).join('|');
  }
  async stored() {
    return json(await call('GET', `/v1/ui/chat/${this.id}/messages`, this.token));
  }
  // Waits until it says so.
  async until(what, isSo) {
    for (let ms = 0; ms < 15_000; ms += 20) {
      if (isSo(this)) return;
      await new Promise((done) => { setTimeout(done, 20); });
    }
    assert.fail(`${what}: ${this.status} ${this.error} ${JSON.stringify(this.messages)}`);
  }
}

// As JSON has them: what is undefined, and false by default, is not there.
function plain(message) {
  const parts = message.parts.map(({ providerExecuted, ...part }) => (
    providerExecuted ? { ...part, providerExecuted } : part));
  return JSON.parse(JSON.stringify({ ...message, parts }));
}

// The client has what is read later, and the SDK takes it for messages of its own.
async function isStored(chat, { approvals = true } = {}) {
  const stored = await chat.stored();
  await ai.validateUIMessages({ messages: stored });
  const mine = plain(chat.lastMessage);
  const theirs = stored.at(-1);
  if (!approvals) {
    for (const part of [...mine.parts, ...theirs.parts]) delete part.approval;
  }
  assert.deepStrictEqual(mine, theirs);
  assert.strictEqual(theirs.id, chat.runId);
}

const cityTool = (name) => ({
  type: 'function',
  name,
  description: 'Tells of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
});

const checks = {
  async 'text and reasoning'({ key }) {
    const chat = new Chat(key);
    await chat.say('[think hm hm] [say hello there]');
    assert.strictEqual(chat.texts(), 'hello there');
    assert.strictEqual(chat.texts('reasoning'), 'hm hm');
    assert.strictEqual(chat.status, 'ready');
    const run = await json(await call('GET', `/v1/runs/${chat.runId}`, key));
    const { inputTokens, outputTokens } = chat.lastMessage.metadata.usage;
    assert.strictEqual(inputTokens, run.total_input_tokens);
    assert.strictEqual(outputTokens, run.total_output_tokens);
    await isStored(await chat.checked());
  },
  async 'an answer that was cut short'({ key }) {
    const ends = [];
    const chat = new Chat(key, { onFinish: ({ finishReason }) => ends.push(finishReason) });
    await chat.say('[say some words][finish length]');
    await chat.say('[say no more][finish content_filter]');
    assert.deepStrictEqual(ends, ['length', 'content-filter']);
    await isStored(await chat.checked());
  },
  async 'a tool that runs here'({ key }) {
    const called = [];
    const chat = new Chat(key, { onToolCall: ({ toolCall }) => { called.push(toolCall); } });
    await chat.say('[tool web_search {"query":"a"}] [say done]');
    const part = chat.parts.find(({ type }) => type === 'tool-web_search');
    assert.strictEqual(part.state, 'output-error');
    assert.strictEqual(part.providerExecuted, true);
    assert.deepStrictEqual(called, []);
    assert.strictEqual(chat.parts.filter(({ type }) => type === 'step-start').length, 2);
    await isStored(await chat.checked());
  },
  async 'approvals, one by one'({ key, persona }) {
    const chat = new Chat(key, {
      body: { persona_id: persona },
      sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await chat.say('[tools web_search {"query":"a"} | web_search {"query":"b"}] [say done]');
    for (const approved of [true, false]) {
      const asked = () => chat.status === 'ready' && chat.parts.find(({ state }) => state === 'approval-requested');
      await chat.until('an approval is asked for', asked);
      await chat.addToolApprovalResponse({ id: asked().approval.id, approved, reason: 'So.' });
    }
    await chat.until('it goes on', () => chat.status === 'ready' && chat.texts() === 'done');
    const states = chat.parts.filter(({ type }) => type === 'tool-web_search').map(({ state }) => state);
    assert.deepStrictEqual(states, ['output-error', 'output-denied']);
    // A reason for a consent is the client's alone.
    await isStored(await chat.checked(), { approvals: false });
    const [consented, denied] = (await chat.stored()).at(-1).parts.filter(({ approval }) => approval);
    assert.strictEqual(consented.approval.approved, true);
    assert.deepStrictEqual(denied.approval.reason, 'So.');
  },
  async "the client's own tools"({ key }) {
    const called = [];
    const chat = new Chat(key, {
      body: { tools: [cityTool('weather'), cityTool('traffic')] },
      sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId, toolName, input } }) => {
        called.push(`${toolName} ${input.city}`);
        if (toolName === 'weather') {
          chat.addToolOutput({ tool: toolName, toolCallId, output: { celsius: 21 } });
        } else {
          chat.addToolOutput({ tool: toolName, toolCallId, state: 'output-error', errorText: 'No road.' });
        }
      },
    });
    await chat.say('[tools weather {"city":"Rome"} | traffic {"city":"Oslo"}] [tool weather {"city":"Ulm"}] [say done]');
    await chat.until('it goes on', () => chat.status === 'ready' && chat.texts() === 'done');
    assert.deepStrictEqual(called, ['weather Rome', 'traffic Oslo', 'weather Ulm']);
    assert.strictEqual(chat.messages.length, 2);
    assert.strictEqual(chat.parts.filter(({ state }) => state === 'output-available').length, 2);
    await isStored(await chat.checked());
  },
  async 'a question'({ key }) {
    const chat = new Chat(key, { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls });
    await chat.say('[ask Which colour?] [say fine]');
    const { data } = chat.parts.find(({ type }) => type === 'data-question');
    assert.strictEqual(data.message, 'Which colour?');
    await chat.addToolOutput({ tool: 'ask_user', toolCallId: data.toolCallId, output: { answer: 'Blue.' } });
    await chat.until('it goes on', () => chat.status === 'ready' && chat.texts() === 'fine');
    const [, answered] = await chat.stored();
    assert.strictEqual(answered.parts.find(({ type }) => type === 'data-question').data.answer, 'Blue.');
  },
  async 'errors in the stream and before it'({ key }) {
    const chat = new Chat(key);
    await chat.say('[status 400] [say well]');
    assert.strictEqual(chat.status, 'error');
    assert.ok(chat.error.message.length > 0);
    const failed = (await chat.stored()).at(-1);
    assert.strictEqual(failed.metadata.error.code, 'model.rejected');
    await (await chat.checked()).say('[say better]');
    assert.strictEqual(chat.texts(), 'better');
    const refused = new Chat(key, { body: { persona_id: 'nobody' } });
    await refused.say('hello');
    assert.match(refused.error.message, /runs\.unknown_persona/);
  },
  async 'stop, which leaving is not'({ key }) {
    const chat = new Chat(key);
    const saying = chat.say('[delay 40] [words 200]');
    await chat.until('it speaks', () => chat.messages.length === 2 && chat.texts() !== '');
    await chat.stop();
    await saying;
    const run = () => call('GET', `/v1/runs/${chat.runId}`, key).then(json);
    assert.strictEqual((await run()).status, 'running');
    const stopped = await call('POST', `/v1/ui/chat/${chat.id}/stop`, key);
    assert.deepStrictEqual(await json(stopped), { ok: true });
    let status = '';
    for (let i = 0; i < 200 && status !== 'cancelled'; ++i) ({ status } = await run());
    assert.strictEqual(status, 'cancelled');
    assert.strictEqual((await chat.stored()).at(-1).metadata.status, 'cancelled');
  },
  async 'the last answer again'({ key }) {
    const chat = new Chat(key);
    await chat.say('[say one]');
    const first = chat.runId;
    await chat.regenerate();
    assert.notStrictEqual(chat.runId, first);
    assert.strictEqual(chat.messages.length, 2);
    await isStored(await chat.checked());
    assert.strictEqual((await chat.stored()).length, 2);
  },
  async 'a new message while it speaks'({ key }) {
    const chat = new Chat(key);
    const saying = chat.say('[delay 40] [words 200]').catch(() => null);
    await chat.until('it speaks', () => chat.messages.length === 2 && chat.texts() !== '');
    const other = new Chat(key, { id: chat.id });
    await other.say('[say instead]');
    assert.strictEqual(other.texts(), 'instead');
    await saying;
    assert.deepStrictEqual((await chat.stored()).map(({ metadata }) => metadata.status),
      [undefined, 'cancelled', undefined, 'completed']);
  },
  async 'is taken up after the page was left'({ key }) {
    const id = `chat-${crypto.randomUUID()}`;
    const left = new Chat(key, { id });
    const saying = left.say('[think hm hm hm] [delay 20] [words 60] [say end]');
    await left.until('it speaks', () => left.messages.length === 2 && left.texts() !== '');
    await left.stop();
    await saying;
    const chat = new Chat(key, { id, messages: await left.stored() });
    assert.strictEqual(chat.messages.length, 1);
    await chat.resumeStream();
    assert.match(chat.texts(), /end$/);
    await isStored(await chat.checked());
    await chat.resumeStream();
    assert.strictEqual(chat.status, 'ready', 'there is nothing to take up: 204');
    assert.strictEqual(chat.messages.length, 2);
  },
  async 'is taken up while it waits'({ key }) {
    const id = `chat-${crypto.randomUUID()}`;
    const body = { tools: [cityTool('weather')] };
    const left = new Chat(key, { id, body });
    await left.say('[tool weather {"city":"Rome"}] [say done]');
    const chat = new Chat(key, {
      id, body, messages: await left.stored(), sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls });
    await chat.resumeStream();
    const { toolCallId } = chat.parts.find(({ type }) => type === 'tool-weather');
    await chat.addToolOutput({ tool: 'weather', toolCallId, output: 21 });
    await chat.until('it goes on', () => chat.status === 'ready' && chat.texts() === 'done');
    await isStored(await chat.checked());
  },
  async 'readUIMessageStream'({ key }) {
    const chat = new Chat(key);
    const saying = chat.say('[delay 20] [words 30]');
    await chat.until('it speaks', () => chat.messages.length === 2 && chat.texts() !== '');
    const stream = await new ai.DefaultChatTransport({ api, headers: { authorization: `Bearer ${key}` } })
      .reconnectToStream({ chatId: chat.id });
    let last = null;
    for await (const message of ai.readUIMessageStream({ stream })) last = message;
    await saying;
    assert.deepStrictEqual(plain(last), plain(chat.lastMessage));
  },
};

async function main() {
  const caller = await account();
  let count = 0;
  for (const [name, check] of Object.entries(checks)) {
    await check(caller).catch((error) => { throw new Error(`${name}: ${error.stack}`); });
    ++count;
  }
  const { version } = require('ai/package.json');
  console.log(`ai ${version}: ${count} conversations, ${chunkCount} chunks, all as they should be`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
