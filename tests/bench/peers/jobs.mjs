// graphile-worker: producers add jobs, one at a time each, and ten workers take them; for dispatch.py.
// PGHOST and kin name the database; SECONDS how long. Prints one line of JSON.
import { run, makeWorkerUtils, runMigrations } from 'graphile-worker';
import pg from 'pg';

const seconds = Number(process.env.SECONDS);
const producers = Number(process.env.PRODUCERS);
const pgPool = new pg.Pool({ max: producers + 12 });
await runMigrations({ pgPool });
await pgPool.query('DELETE FROM graphile_worker._private_jobs');

let taken = 0;
const waits = [];
const runner = await run({
  pgPool, concurrency: 10, noHandleSignals: true, pollInterval: 1000, logger: undefined,
  taskList: { job: async (payload) => { ++taken; waits.push(performance.now() - payload.at); } },
});
const utils = await makeWorkerUtils({ pgPool });
await new Promise((done) => setTimeout(done, 300));
const begin = performance.now();
const end = begin + seconds * 1000;
let made = 0;
async function produce() {
  while (performance.now() < end) {
    await utils.addJob('job', { at: performance.now() });
    ++made;
  }
}
await Promise.all(Array.from({ length: producers }, produce));
const spent = (performance.now() - begin) / 1000;
const takenInTime = taken;
waits.sort((a, b) => a - b);
console.log(JSON.stringify({ made: made / spent, taken: takenInTime / spent, p50: waits[waits.length >> 1] ?? 0 }));
await runner.stop();
await utils.release();
await pgPool.end();
process.exit(0);
