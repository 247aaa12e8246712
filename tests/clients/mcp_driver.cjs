// The client that @modelcontextprotocol/conformance judges: Hostler. Registers the URL of a
// scenario as an MCP server, authorizes as a person would, and starts a run whose stand-in model
// calls its tools. What the server saw is what is judged; run by `conformance client --command`.
//   MCP_CONFORMANCE_SCENARIO=… [MCP_CONFORMANCE_CONTEXT=…] node mcp_driver.cjs URL
'use strict';

const hostler = require('./mcp_hostler.cjs');

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const url = process.argv[2];

const tool = (name, given = {}) => `[tool judge__${name} ${JSON.stringify(given)}]`;
const accept = (content) => ({ action: 'accept', content });

// What the model is told, and what a person answers; of scenarios that are not here the server is
// listed, and no more.
const scripts = {
  'tools_call': { script: tool('add_numbers', { a: 2, b: 3 }) },
  'elicitation-sep1034-client-defaults': {
    script: tool('test_client_elicitation_defaults'), answer: accept({}) },
  'sse-retry': { script: tool('test_reconnection') },
  'http-standard-headers': { script: tool('test_headers') + tool('my-hyphenated-tool') },
  'http-custom-headers': {
    // A null for a parameter that its schema calls a boolean is refused before it is sent.
    script: (context.toolCalls ?? []).map(({ name, arguments: given }) => tool(name,
      Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)))).join(' '),
  },
  'http-invalid-tool-headers': { script: tool('valid_tool', { region: 'eu' }), all: true },
  'sep-2322-client-request-state': {
    script: `[tools judge__test_mrtr_echo_state {} | judge__test_mrtr_unrelated {}] `
      + `${tool('test_mrtr_no_state')} ${tool('test_mrtr_no_result_type')}`,
    answer: accept({ confirmed: true }),
  },
};

function asked() {
  if (!scenario.startsWith('auth/')) return { how: scripts[scenario] };
  const authorization = { type: 'oauth', per: 'user' };
  if (context.client_id) Object.assign(authorization, {
    client_id: context.client_id, client_secret: context.client_secret });
  return { how: { script: tool('test-tool') }, further: { authorization } };
}

// A tool that is offered is called: also one that should not have been offered.
async function scriptOf(who, server, how) {
  if (!how.all) return how.script;
  const names = (await hostler.toolsOf(who, server.id)).map(({ name }) => name);
  const others = names.filter((name) => name !== 'judge__valid_tool');
  return how.script + others.map((name) => `[tool ${name} {}]`).join(' ');
}

async function main() {
  const { how, further } = asked();
  const who = await hostler.person('judge');
  let server = await hostler.register(who, url, further);
  server = await hostler.authorized(who, server);
  if (server.listing.state !== 'ok') throw new Error(JSON.stringify(server.listing));
  if (!how) return;
  const names = (await hostler.toolsOf(who, server.id)).map(({ name }) => name);
  const run = await hostler.begin(who, await scriptOf(who, server, how), names);
  const end = await hostler.finish(who, run, async (waiting) => {
    const { kind } = waiting;
    if (kind === 'elicitation') return hostler.input(who, run, how.answer);
    if (kind === 'authorization') return hostler.authorize(who, server);
    if (kind === 'tool_results') return undefined;  // its server owes it
    throw new Error(`the run waits: ${JSON.stringify(waiting)}`);
  });
  const failed = (await hostler.story(who, run))
    .filter(({ type, error }) => type === 'tool.result' && error);
  if (end.status !== 'completed' || failed.length > 0) {
    throw new Error(`${end.status}: ${JSON.stringify(failed)}`);
  }
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
