// Runs the flows on several stacks at once, each with a browser and a database of its own, and
// tells what all of them say as one. Called by tests/console/run with the number of stacks: most of
// the time a flow waits for something, and its processor could do another one.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [count] = process.argv.slice(2).map(Number);
const claims = mkdtempSync(join(tmpdir(), 'flows-'));
const children = new Set();
let number = 0;
let passed = 0;
let failed = 0;

// A line of a flow and those below it that say what is wrong stay together.
function tell(block) {
  if (block.length === 0) return;
  const [first, ...rest] = block;
  console.log([first.replace(/ok \d+/, () => `ok ${++number}`), ...rest].join('\n'));
}

async function run_one(shard) {
  const child = spawn('dev/stack/with-stack', [process.execPath, 'tests/console/flows.mjs'], {
    env: { ...process.env, CLAIMS: claims, STACKS: String(count) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const ended = new Promise((resolve) => child.on('close', resolve));
  let block = [];
  let sums = null;
  for await (const line of createInterface({ input: child.stdout })) {
    sums = line.match(/^(\d+) passed, (\d+) failed$/);
    if (sums || /^(not )?ok /.test(line)) {
      tell(block);
      block = [];
    }
    if (!sums) block.push(line);
  }
  const status = await ended;
  children.delete(child);
  tell(block);
  passed += Number(sums?.[1] ?? 0);
  failed += Number(sums?.[2] ?? 0);
  // A shard that found nothing left to do has not failed.
  if (sums === null || (status !== 0 && Number(sums[1]) > 0 && sums[2] === '0')) {
    ++failed;
    console.log(`not ok ${++number} stack ${shard} ended early, status ${status}`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => children.forEach((child) => child.kill(signal)));
}
await Promise.all(Array.from({ length: count }, (_, shard) => run_one(shard + 1)));
rmSync(claims, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
