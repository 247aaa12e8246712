// Servers that the flows' agents call: an MCP server whose tools a flow may change, and one that
// answers webhook tools.
import { createServer } from 'node:http';

async function listening(answer) {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { status = 200, body } = answer(text ? JSON.parse(text) : null, request);
    const bytes = body === undefined ? '' : JSON.stringify(body);
    response.writeHead(status, bytes ? { 'Content-Type': 'application/json' } : {});
    response.end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const newest = '2026-07-28';
const no_arguments = { type: 'object', properties: {} };
export const clock_tool = {
  name: 'clock',
  description: 'Tells the time.',
  inputSchema: no_arguments,
  annotations: { readOnlyHint: true },
};

// {url, tools (a list that may be changed), calls, close()}; each call of a tool is answered with
// `said`.
export async function start_mcp_peer({ tools = [clock_tool], said = 'It is noon.' } = {}) {
  const peer = { tools, calls: [] };
  const results = {
    'server/discover': () => ({
      supportedVersions: [newest],
      capabilities: { tools: {} },
      serverInfo: { name: 'peer', version: '1' },
      ttlMs: 3_600_000,
      cacheScope: 'public',
    }),
    'tools/list': () => ({ tools: peer.tools, ttlMs: 3_600_000, cacheScope: 'public' }),
    'tools/call': (params) => {
      peer.calls.push(params);
      return { content: [{ type: 'text', text: said }], isError: false };
    },
  };
  const server = await listening((message) => {
    const { id, method, params = {} } = message ?? {};
    if (id === undefined) return { status: 202 };
    if (!(method in results)) {
      const error = { code: -32601, message: `There is no method ${method}.` };
      return { status: 404, body: { jsonrpc: '2.0', id, error } };
    }
    const result = { ...results[method](params), resultType: 'complete' };
    return { body: { jsonrpc: '2.0', id, result } };
  });
  return Object.assign(peer, { url: `${server.url}/mcp`, close: server.close });
}

// {url, calls, close()}; `answer(data)` gives the result of a call, whose data it gets.
export async function start_tool_peer(answer = () => ({ ok: true })) {
  const calls = [];
  const server = await listening((message) => {
    calls.push(message.data);
    return { body: answer(message.data) };
  });
  return { calls, url: `${server.url}/tool`, close: server.close };
}
