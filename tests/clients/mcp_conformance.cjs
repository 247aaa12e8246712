// The conformance suite of MCP, its scenarios for clients, with Hostler as the client: each drives
// mcp_driver.cjs, and looks at what its own servers saw. The settings that it needs are stored as
// an administrator would: this site's address, and that tenants may reach this host.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node mcp_conformance.cjs requirements 2026-07-28|2025-11-25
//   NODE_EXTRA_CA_CERTS=$CA_CERT node mcp_conformance.cjs few      of each kind one, of both
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const hostler = require('./mcp_hostler.cjs');

const suite = require('node:path').join(
  process.env.NODE_PATH, '@modelcontextprotocol/conformance/dist/index.js');
const driver = path.join(__dirname, 'mcp_driver.cjs');
const output = process.env.CONFORMANCE_OUTPUT;

const few = {
  '2026-07-28': ['tools_call', 'request-metadata', 'http-custom-headers',
    'sep-2322-client-request-state', 'auth/metadata-var3', 'auth/scope-step-up'],
  '2025-11-25': ['initialize', 'sse-retry', 'elicitation-sep1034-client-defaults'],
};

// The scenarios that a revision requires: the suite's own list.
function required(revision) {
  const file = path.join(path.dirname(suite), `../requirements/${revision}.yaml`);
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const from = lines.indexOf('client:');
  const rest = lines.slice(from + 1);
  return rest.slice(0, rest.findIndex((line) => !line.startsWith('  - ')))
    .map((line) => line.slice(4));
}

// A scenario fails by a failure, and by a warning too.
function judge(revision, scenario) {
  const given = ['client', '--command', `${process.execPath} ${driver}`, '--scenario', scenario,
    '--spec-version', revision, '--timeout', '60000'];
  if (output) given.push('-o', output);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...given], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (piece) => { said += piece; });
    child.stderr.on('data', (piece) => { said += piece; });
    child.on('close', (code) => resolve({ code, said }));
  });
}

async function main() {
  const [kind, revision] = process.argv.slice(2);
  const wanted = kind === 'few' ? few : { [revision]: required(revision) };
  await hostler.prepare();
  let failed = 0;
  let all = 0;
  for (const [version, scenarios] of Object.entries(wanted)) {
    for (const scenario of scenarios) {
      if (process.env.ONLY && !scenario.includes(process.env.ONLY)) continue;
      const { code, said } = await judge(version, scenario);
      all += 1;
      if (code === 0) continue;
      failed += 1;
      console.log(`${version} ${scenario} failed:\n${said.slice(-6000)}`);
    }
  }
  console.log(`conformance ${Object.keys(wanted).join(', ')}: ${all - failed} of ${all} scenarios`);
  if (failed > 0 || all === 0) process.exit(1);
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
