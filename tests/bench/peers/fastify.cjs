// The peer most people would write: fastify and pg, the same statements, one process a core is slower, so one.
// Started by peers.py: SOCKET, STATEMENTS (a JSON file of the statements by name), PGHOST and kin; pool of 8.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const { Pool, types } = require('pg');
const app = require('fastify')({ logger: false });

const statements = JSON.parse(fs.readFileSync(process.env.STATEMENTS, 'utf8'));
const pool = new Pool({ max: 8 });
types.setTypeParser(types.builtins.INT8, Number);

async function query(client, name, values) {
  return (await client.query({ name, text: statements[name], values })).rows;
}

// BEGIN, who calls, what is asked, COMMIT: each waits for the one before, as pg's clients do.
async function rowsAsCaller(request, need, name, values) {
  const hash = crypto.createHash('sha256').update(request.headers.authorization.slice(7)).digest();
  const context = JSON.stringify({ trace_id: crypto.randomUUID().replaceAll('-', ''), client_ip: '127.0.0.1', user_agent: '' });
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await query(client, 'authenticate_by_token', [hash, null, need, false, false, context]);
    const rows = await query(client, name, values);
    await client.query('COMMIT');
    if (name === 'run_create') await query(client, 'run_notify', []);
    return rows;
  } catch (fault) {
    await client.query('ROLLBACK');
    throw fault;
  } finally {
    client.release();
  }
}

// As lib/search_words.h has it, of ASCII.
function words(text) {
  return [...new Set(text.toLowerCase().match(/[a-z0-9]+/g))].sort().join(' ');
}

async function asCaller(request, need, name, values) {
  return (await rowsAsCaller(request, need, name, values))[0];
}

app.get('/v1/runs/:run', async (request) => asCaller(request, 'data.runs.read', 'run_show', [request.params.run]));
app.get('/v1/runs', async (request) => {
  const limit = Number(request.query.limit);
  return (await rowsAsCaller(request, 'data.runs.read', 'run_page', [null, limit, null])).slice(0, limit);
});
app.post('/v1/threads/:thread/messages', async (request, reply) => {
  reply.code(201);
  return (await asCaller(request, 'data.threads.write', 'message_create', [request.params.thread, request.body.content, words(request.body.content), 0])).item;
});
app.post('/v1/threads/:thread/runs', async (request, reply) => {
  reply.code(201);
  const strategy = request.body.multitask_strategy;
  // As the pool asks without a route, a persona, tools and a response format; and without limits.
  const limits = [1000000, 0, 1000000, 0, 0, 1000000];
  const wanted = [request.params.thread, null, null, strategy, '{}', ...limits, null, null];
  return (await asCaller(request, 'data.runs.write', 'run_create', wanted)).item;
});
app.listen({ path: process.env.SOCKET }).then(() => {
  fs.chmodSync(process.env.SOCKET, 0o666);
  console.log('ready');
});
