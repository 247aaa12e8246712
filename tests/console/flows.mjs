// Runs the flows of flows/, one after the other. Called by tests/console/run. FLOWS=word: those
// alone whose names have it. A flow that fails leaves a picture in build/console_tests.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run as run_files } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Flow, start_browser, stop_browser } from './harness.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'flows');
const limit_ms = 180_000; // twenty kills of the daemon take more than a minute
const flows = [];
for (const name of readdirSync(folder).sort()) {
  const part = await import(pathToFileURL(join(folder, name)));
  for (const [title, work] of Object.entries(part.flows ?? {})) {
    flows.push([`${name.replace('.mjs', '')}: ${title}`, work]);
  }
}
const wanted = flows.filter(([name]) => name.includes(process.env.FLOWS ?? ''));

async function run(work, name) {
  const flow = new Flow();
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
    await flow.end();
  }
  return flow.faults;
}

let passed = 0;
let failed = 0;
let number = 0;

// The parts that need no browser.
async function run_units() {
  const files = readdirSync(join(here, 'unit'))
    .filter((name) => name.endsWith('.test.mjs'))
    .map((name) => join(here, 'unit', name));
  for await (const { type, data } of run_files({ files, concurrency: 1 })) {
    if (!['test:pass', 'test:fail'].includes(type) || data.name.endsWith('.mjs')) continue;
    const is_passed = type === 'test:pass';
    is_passed ? ++passed : ++failed;
    console.log(`${is_passed ? 'ok' : 'not ok'} ${++number} unit: ${data.name}`);
    if (!is_passed) console.log(`  ${data.details.error?.cause?.stack ?? data.details.error}`);
  }
}
if (!process.env.FLOWS) await run_units();

await start_browser();
for (const [name, work] of wanted) {
  const begin = Date.now();
  const faults = await run(work, name);
  ++number;
  const took = `(${((Date.now() - begin) / 1000).toFixed(1)} s)`;
  if (faults.length === 0) {
    ++passed;
    console.log(`ok ${number} ${name} ${took}`);
  } else {
    ++failed;
    console.log(`not ok ${number} ${name} ${took}`);
    for (const fault of faults.slice(0, 5))
      console.log(`  ${fault.split('\n').slice(0, 6).join('\n  ')}`);
  }
}
await stop_browser();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
