// A server of MCP for flows, on the loopback: /forms/mcp asks for a form before it answers,
// /locked/mcp wants an authorization, which the server gives at once to whoever opens its page.
import { createServer } from 'node:http';

const version = '2026-07-28';
const form = {
  type: 'object',
  required: ['size', 'colour'],
  properties: {
    size: { type: 'integer', title: 'Size', minimum: 1, description: 'In centimetres' },
    colour: { type: 'string', title: 'Colour', enum: ['red', 'blue'] },
    gift: { type: 'boolean', title: 'As a gift', default: true },
  },
};
const text = (words) => ({ content: [{ type: 'text', text: words }] });

// `form.message` and `form.schema` may be set to others. {url, form, stop()}.
export async function start_mcp_peer() {
  const peer = { url: '', form: { message: 'Which one?', schema: form } };
  let is_known = false;

  const call = ({ inputResponses: answers }) =>
    answers
      ? text(JSON.stringify(answers.form))
      : {
          resultType: 'input_required',
          requestState: 'state',
          inputRequests: {
            form: {
              method: 'elicitation/create',
              params: { message: peer.form.message, requestedSchema: peer.form.schema },
            },
          },
        };
  const result_of = ({ method, params }, is_locked) => {
    const lasts = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'private' };
    if (method === 'server/discover') {
      return { ...lasts, supportedVersions: [version], capabilities: { tools: {} } };
    }
    if (method === 'tools/list') {
      const schema = { type: 'object', properties: {} };
      const hints = { readOnlyHint: true };
      const tool = { name: 'order', description: 'd', inputSchema: schema, annotations: hints };
      return { ...lasts, tools: [tool] };
    }
    return is_locked ? text('the drawer is open') : call(params);
  };

  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { pathname, searchParams: query } = new URL(request.url, peer.url);
    const send = (status, answer, headers = {}) => {
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      response.end(JSON.stringify(answer));
    };
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      send(200, { resource: `${peer.url}/locked/mcp`, authorization_servers: [peer.url] });
    } else if (pathname.startsWith('/.well-known/oauth-authorization-server')) {
      send(200, {
        issuer: peer.url,
        authorization_endpoint: `${peer.url}/page`,
        token_endpoint: `${peer.url}/token`,
        registration_endpoint: `${peer.url}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    } else if (pathname === '/register') {
      const wanted = JSON.parse(body);
      send(201, { ...wanted, client_id: 'console', token_endpoint_auth_method: 'none' });
    } else if (pathname === '/token') {
      send(200, { access_token: 'good', token_type: 'Bearer', expires_in: 3600 });
    } else if (pathname === '/page') {
      const answer = query.get('deny') ? { error: 'access_denied' } : { code: 'yes' };
      const back = new URLSearchParams({ ...answer, state: query.get('state') });
      response.writeHead(302, { Location: `${query.get('redirect_uri')}?${back}` });
      response.end();
    } else {
      const message = JSON.parse(body);
      const is_locked = pathname === '/locked/mcp';
      const is_shown = request.headers.authorization === 'Bearer good';
      // Whoever was told once who gives authorizations may look, but call nothing.
      if (is_locked && !is_shown && (!is_known || message.method === 'tools/call')) {
        is_known = true;
        send(401, {}, { 'WWW-Authenticate': 'Bearer' });
        return;
      }
      send(200, { jsonrpc: '2.0', id: message.id, result: result_of(message, is_locked) });
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  peer.url = `http://127.0.0.1:${server.address().port}`;
  peer.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return peer;
}
