// Mastra's own server with an agent of one model and storage in memory: what keeps nothing. Started by peers.py:
// SOCKET, MODEL_URL (an OpenAI-compatible model). One process, as a project of its command line tool would run.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAdaptorServer } from '@hono/node-server';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { MastraServer } from '@mastra/hono';
import { Hono } from 'hono';
import { chmodSync } from 'node:fs';

const provider = createOpenAICompatible({ name: 'fake', baseURL: process.env.MODEL_URL, apiKey: 'none' });
const model = provider.chatModel('fake-model');
const agent = new Agent({ id: 'agent', name: 'agent', instructions: 'Answer.', model });
const mastra = new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
const app = new Hono();
const server = new MastraServer({ app, mastra });
await server.init();
createAdaptorServer({ fetch: app.fetch }).listen(process.env.SOCKET, () => {
  chmodSync(process.env.SOCKET, 0o666);
  console.log('ready');
});
