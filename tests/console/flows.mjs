// Runs the flows of flows/, one after the other. Called by tests/console/run, once for each stack:
// those that share a folder CLAIMS share the flows, each of which the first one takes that comes to
// it. FLOWS=word: those alone whose names have it. A flow that fails leaves a picture in
// build/console_tests.
import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run as run_files } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { admin_token, Flow, forget, must, start_browser, stop_browser } from './harness.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'flows');
const limit_ms = 180_000; // twenty kills of the daemon take more than a minute
// These last so long that who takes one last is waited for by all.
const first_files = ['survives.mjs', 'whole.mjs', 'admin.mjs', 'org.mjs', 'platform.mjs'];
const place_of = (name) => (first_files.indexOf(name) + 1 || first_files.length + 1) - 1;
const files = readdirSync(folder).sort((one, other) => place_of(one) - place_of(other));
const flows = [];
for (const file of files) {
  const part = await import(pathToFileURL(join(folder, file)));
  for (const [title, work] of Object.entries(part.flows ?? {})) {
    const name = `${file.replace('.mjs', '')}: ${title}`;
    flows.push({ file, name, work, is_alone: part.alone?.includes(title) ?? false });
  }
}
const wanted = flows.filter(({ name }) => name.includes(process.env.FLOWS ?? ''));

// Whether nobody else has taken it.
const { CLAIMS: claims, STACKS: stacks } = process.env;
function is_ours(name) {
  if (!claims) return true;
  try {
    mkdirSync(join(claims, name.replace(/\W+/g, '_').slice(0, 200)));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

let passed = 0;
let failed = 0;

// One line, and below it what is wrong; written at once, so that it stays together.
function report(name, faults, note = '') {
  faults.length === 0 ? ++passed : ++failed;
  const lines = faults
    .slice(0, 5)
    .map((fault) => `\n  ${fault.split('\n').slice(0, 6).join('\n  ')}`);
  const verdict = faults.length === 0 ? 'ok' : 'not ok';
  console.log(`${verdict} ${passed + failed} ${name}${note}${lines.join('')}`);
}

// The parts that need no browser.
async function run_units() {
  const unit_files = readdirSync(join(here, 'unit'))
    .filter((name) => name.endsWith('.test.mjs'))
    .map((name) => join(here, 'unit', name));
  for await (const { type, data } of run_files({ files: unit_files, concurrency: 1 })) {
    if (!['test:pass', 'test:fail'].includes(type) || data.name.endsWith('.mjs')) continue;
    const { error } = data.details;
    const fault = String(error?.cause?.stack ?? error);
    report(`unit: ${data.name}`, type === 'test:pass' ? [] : [fault]);
  }
}

// Faults of it; `flow` keeps its pages.
async function run(flow, { name, work }) {
  let limit;
  try {
    await Promise.race([
      work(flow),
      new Promise((resolve, reject) => {
        limit = setTimeout(() => reject(new Error(`not done after ${limit_ms} ms`)), limit_ms);
      }),
    ]);
  } catch (error) {
    flow.faults.unshift(error.stack ?? String(error));
    await flow.picture(join(process.env.CONSOLE_TOOLS, `${name.replace(/\W+/g, '_')}.png`));
  } finally {
    clearTimeout(limit);
  }
  return flow.faults;
}

if (!process.env.FLOWS && is_ours('units')) await run_units();

// A script asks more often than people do.
async function lift_rates() {
  const token = await admin_token();
  for (const whose of ['requests', 'anonymous_requests']) {
    const path = `/v1/admin/settings/limit.${whose}_per_minute`;
    await must('PUT', path, { value: 1_000_000 }, { token });
  }
}

await lift_rates();
await start_browser();
let kept = new Map();
let kept_of = '';
async function run_all(some) {
  for (const each of some) if (is_ours(each.name)) await run_and_report(each);
}
async function run_and_report(each) {
  // Pages are for the flows of one file, and not behind a fault.
  if (kept_of !== each.file) {
    await forget(kept);
    kept = new Map();
  }
  const begin = Date.now();
  const flow = new Flow(kept);
  const faults = await run(flow, each);
  kept = await flow.end();
  kept_of = faults.length === 0 ? each.file : '';
  report(each.name, faults, ` (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
}

// Whether everybody else has come to their end.
function is_last() {
  let place = 1;
  while (!is_ours(`end ${place}`)) ++place;
  return !claims || place === Number(stacks);
}

await run_all(wanted.filter((each) => !each.is_alone));
// Flows with bounds in time run when nothing else does.
if (is_last()) await run_all(wanted.filter((each) => each.is_alone));
await stop_browser();
console.log(`${passed} passed, ${failed} failed`);
// At once: a flow that failed may have left a server that listens.
process.exit(failed === 0 && passed > 0 ? 0 : 1);
