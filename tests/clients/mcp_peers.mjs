// Servers of MCP that nobody here wrote, for mcp_servers.cjs:
// @modelcontextprotocol/server-everything (revision 2025-11-25, sessions), and a server of a few tools on @modelcontextprotocol/server
// (2026-07-28, with tasks as SEP-2663 has them). Each writes down what it was called with and what
// it answered: `log`, an entry a call {tool, n, answer}; n: of the arguments, which number calls.
import { spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const packages = path.join(process.env.NODE_PATH, '@modelcontextprotocol');
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const text = (words) => ({ content: [{ type: 'text', text: words }] });

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

function listen(answer) {
  const server = http.createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(502);
      response.end(String(error));
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({
      url: `http://127.0.0.1:${server.address().port}/mcp`,
      close: () => { server.closeAllConnections(); server.close(); },
    }));
  });
}

const form = { type: 'object', required: ['size'], properties: {
  size: { type: 'integer', minimum: 1 } } };

// States of its tasks; a task is done when its time is over and its question was answered.
class Tasks {
  #all = new Map();
  cancelled = 0;

  begin(tool, ms, answer) {
    const id = crypto.randomUUID();
    this.#all.set(id, { id, tool, answer, due: Date.now() + ms, form: tool === 'later_asks' });
    const { inputRequests, result, ...seed } = this.shown(id);
    return { resultType: 'task', ...seed, status: 'working' };
  }
  shown(id) {
    const task = this.#all.get(id);
    if (!task) throw new Error('there is no such task');
    const shown = { taskId: id, createdAt: new Date().toISOString(), pollIntervalMs: 500,
      lastUpdatedAt: new Date().toISOString(), ttlMs: 3600000, status: 'working' };
    if (task.isCancelled) return { ...shown, status: 'cancelled' };
    if (Date.now() < task.due) return shown;
    if (task.form) return { ...shown, status: 'input_required', inputRequests: { size: {
      method: 'elicitation/create', params: {
        mode: 'form', message: 'Which size?', requestedSchema: form } } } };
    return { ...shown, status: 'completed', result: text(task.answer(task.given)) };
  }
  update(id, given) {
    const task = this.#all.get(id);
    if (task.form && given.size) Object.assign(task, { form: false, given: given.size });
    return {};
  }
  cancel(id) {
    this.#all.get(id).isCancelled = true;
    this.cancelled += 1;
    return {};
  }
}

// Tools: once {n, ms} (not idempotent), again {n, ms} (idempotent), ask, later {n, ms}, later_asks,
// later_never. What each answers is in its log, too.
export async function sdkServer() {
  const sdk = await import(pathToFileURL(path.join(packages, 'server/dist/index.mjs')));
  const log = [];
  const tasks = new Tasks();
  const takes = sdk.fromJsonSchema({ type: 'object', properties: {
    n: { type: 'integer' }, ms: { type: 'integer' } } });
  const called = (tool, { n }) => {
    const entry = { tool, n, answer: `${tool} ${n}: ${crypto.randomUUID()}` };
    log.push(entry);
    return entry.answer;
  };
  const factory = () => {
    const server = new sdk.McpServer({ name: 'judge', version: '1' }, { capabilities: {
      tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    const add = (name, work, annotations = {}) => server.registerTool(
      name, { description: name, inputSchema: takes, annotations }, work);
    const slowly = (tool) => async (given) => {
      const answer = called(tool, given);
      await sleep(given.ms ?? 0);
      return text(answer);
    };
    add('once', slowly('once'));
    add('again', slowly('again'), { idempotentHint: true });
    add('ask', async (given, { mcpReq }) => {
      const size = sdk.acceptedContent(mcpReq.inputResponses, 'size');
      if (size) return text(`${called('ask', given)} ${size.size}`);
      return sdk.inputRequired({ requestState: 'as it was', inputRequests: {
        size: sdk.inputRequired.elicit({ message: 'Which size?', requestedSchema: form }) } });
    });
    for (const tool of ['later', 'later_asks', 'later_never']) {
      add(tool, async (given) => {
        const answer = called(tool, given);
        const ms = tool === 'later_never' ? 3600000 : given.ms ?? 0;
        const told = (size) => (size ? `${answer} ${JSON.stringify(size)}` : answer);
        return tasks.begin(tool, ms, told);
      });
    }
    const params = sdk.fromJsonSchema({ type: 'object', required: ['taskId'], properties: {
      taskId: { type: 'string' } } });
    server.server.setRequestHandler('tasks/get', { params }, ({ taskId }) => tasks.shown(taskId));
    server.server.setRequestHandler('tasks/update', { params }, ({ taskId }, { mcpReq }) =>
      tasks.update(taskId, mcpReq.inputResponses ?? {}));
    server.server.setRequestHandler('tasks/cancel', { params }, ({ taskId }) =>
      tasks.cancel(taskId));
    return server;
  };
  const handler = sdk.createMcpHandler(factory);
  const { url, close } = await listen(async (request, response) => {
    const body = await bodyOf(request);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const answer = await handler.fetch(new Request(`http://127.0.0.1${request.url}`, {
      method: request.method, headers: request.headers, signal: gone.signal,
      body: body.length > 0 ? body : undefined }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  return { url, log, tasks, close };
}

async function freePort() {
  const { url, close } = await listen(async () => {});
  close();
  return Number(new URL(url).port);
}

// Between it and us stands a witness that keeps what passes: the server itself writes nothing down.
export async function everything() {
  const port = await freePort();
  const child = spawn(process.execPath,
    [path.join(packages, 'server-everything/dist/index.js'), 'streamableHttp'],
    { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  const log = [];
  for (let tries = 0; tries < 200; ++tries) {
    const is = await fetch(`http://127.0.0.1:${port}/mcp`).then(() => true, () => false);
    if (is) break;
    await sleep(50);
  }
  const { url, close } = await listen(async (request, response) => {
    const body = await bodyOf(request);
    const message = body.length > 0 ? JSON.parse(body.toString()) : {};
    const entry = { tool: message.params?.name, n: Number(message.params?.arguments?.message) };
    if (message.method === 'tools/call') log.push(entry);
    const passed = http.request({ port, host: '127.0.0.1', path: request.url,
      method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      let said = '';
      answer.on('data', (piece) => { said += piece; response.write(piece); });
      answer.on('end', () => {
        const found = said.match(/"text":"((?:[^"\\]|\\.)*)"/);
        if (found) entry.answer = JSON.parse(`"${found[1]}"`);
        response.end();
      });
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    passed.end(body);
  });
  return { url, log, close: () => { close(); child.kill('SIGKILL'); } };
}
