// What the judges of Hostler's MCP client need of Hostler: an account, a server that is registered
// and listed, a person who authorizes in a browser, runs whose stand-in model calls tools, and
// their events. Used by mcp_driver.cjs and mcp_servers.cjs.
'use strict';

const assert = require('node:assert');

const base = process.env.BASE_URL;
const limitMs = 25_000;

async function call(method, path, { body, token, headers = {} } = {}) {
  const sent = { ...headers };
  if (token) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent['content-type'] = 'application/json';
  const answer = await fetch(base + path, {
    method, headers: sent, redirect: 'manual', body: body && JSON.stringify(body) });
  const text = await answer.text();
  let json = null;
  try { json = JSON.parse(text); } catch { /* no JSON: text tells */ }
  return { status: answer.status, headers: answer.headers, text, json };
}

// The answer's JSON; anything but success fails.
async function done(method, path, further) {
  const answer = await call(method, path, further);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}

// Asks again until there is an answer, at most limitMs.
async function eventually(what, ask, most = limitMs) {
  const end = Date.now() + most;
  for (;;) {
    const found = await ask();
    if (found) return found;
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 30); });
  }
}

// What the judges need of the installation, as an administrator sets it: this site's address, and
// that tenants may reach this host.
async function prepare() {
  const { access_token: token } = await done('POST', '/v1/auth/login', {
    body: { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD } });
  const settings = {
    'mail.site_url': base,
    // What the conformance suite calls the document of a client; it is never read.
    'mcp.client_id_url': 'https://conformance-test.local/client-metadata.json',
    'outbound.allow_cidrs': ['127.0.0.0/8', '::1/128'],
  };
  for (const [key, value] of Object.entries(settings)) {
    await done('PUT', `/v1/admin/settings/${key}`, { token, body: { value } });
  }
  return token;
}

// Runs whose daemons died wait for their trials: they would fill what is ten at most otherwise.
async function mayRunMany(who) {
  const token = await prepare();
  const { org_id: org } = await done('GET', '/v1/me', { token: who.token });
  for (const key of ['limit.concurrent_runs', 'limit.waiting_runs']) {
    await done('POST', '/v1/entitlement-overrides', { token, body: {
      org_id: org, key, value: '1000000', value_type: 'integer' } });
  }
}

// A user with an organization of their own, as their browser knows them.
async function person(name) {
  const login = `${name}${process.pid}x${Date.now().toString(36)}`;
  const answer = await call('POST', '/v1/auth/register', {
    body: { login, password: 'correct horse', email: `${login}@example.org` } });
  assert.strictEqual(answer.status, 201, answer.text);
  return {
    token: answer.json.access_token,
    cookie: answer.headers.get('set-cookie').split(';')[0],
  };
}

const listed = (who, id) => eventually('the listing', async () => {
  const server = await done('GET', `/v1/mcp-servers/${id}?scope=org`, { token: who.token });
  return server.listing.state !== 'pending' && server;
});

async function register(who, url, further = {}) {
  const server = await done('POST', '/v1/mcp-servers?scope=org', {
    token: who.token, body: { key: 'judge', url, trust: 'run', ...further } });
  return listed(who, server.id);
}

const toolsOf = async (who, id) =>
  (await done('GET', `/v1/mcp-servers/${id}/tools?scope=org`, { token: who.token }));

// What a person does in a browser: the authorization server's page says yes at once and leads
// back. Answers what became of it; null: Hostler knows no way.
async function authorize(who, server) {
  const begun = await call('POST', `/v1/mcp-servers/${server.id}:connect`, { token: who.token });
  if (begun.status === 409) return null;
  assert.strictEqual(begun.status, 200, begun.text);
  const page = await fetch(begun.json.url, { redirect: 'manual' });
  const back = page.headers.get('location');
  assert.ok(back && back.startsWith(base), `${begun.json.url}: ${page.status} ${back}`);
  const landed = await call('GET', back.slice(base.length), { headers: { cookie: who.cookie } });
  assert.strictEqual(landed.status, 303, landed.text);
  return new URLSearchParams(landed.headers.get('location').split('?')[1]).get('outcome');
}

// Authorizes for as long as the server, seen through its listing, asks for it. Answers the server
// as it was listed last.
async function authorized(who, server, most = 5) {
  let now = server;
  for (let times = 0; times < most; ++times) {
    if (now.listing.state !== 'failed' || now.listing.error.code !== 'tool.not_connected') break;
    const outcome = await authorize(who, now);
    if (outcome !== 'ok') break;
    await eventually('the connection', async () => {
      const seen = await done('GET', `/v1/mcp-servers/${now.id}?scope=org`, { token: who.token });
      // A server may end a connection before anybody looks: then it was listed since.
      const is_over = seen.connection.state === 'connected' || seen.connection.error !== null;
      return is_over || seen.listing.at !== now.listing.at;
    });
    now = await listed(who, now.id);
  }
  return now;
}

const personas = new Map();

// The key of a persona that names these tools.
async function personaOf(who, tools) {
  const names = `${who.token} ${tools.join(' ')}`;
  if (!personas.has(names)) {
    const key = `judge-${personas.size}`;
    await done('POST', '/v1/personas?scope=org', {
      token: who.token, body: { persona_key: key, version: '1', tools } });
    personas.set(names, key);
  }
  return personas.get(names);
}

// Begins a run whose model says the script; tools: what its persona names.
async function begin(who, script, tools) {
  const key = await personaOf(who, tools);
  const thread = await done('POST', '/v1/threads', { token: who.token, body: {} });
  await done('POST', `/v1/threads/${thread.id}/messages`, {
    token: who.token, body: { content: script } });
  const run = await done('POST', `/v1/threads/${thread.id}/runs`, {
    token: who.token, body: { persona_id: `${key}@1` } });
  return run.run_id ?? run.id;
}

const shown = (who, run) => done('GET', `/v1/runs/${run}`, { token: who.token });

// The run to its end; answer is asked for each of its waits, with what the run waits for.
async function finish(who, run, answer = () => assert.fail('the run waits')) {
  let answered = 0;
  for (;;) {
    const wait = await eventually(`run ${run}`, async () => {
      const { status } = await shown(who, run);
      if (['completed', 'failed', 'cancelled'].includes(status)) return { status };
      if (status !== 'waiting_for_input') return null;
      const waits = (await story(who, run)).filter(({ type }) => type === 'run.waiting_for_input');
      return waits.length > answered && waits.at(-1);
    });
    if (wait.status) return wait;
    answered += 1;
    await answer(wait);
  }
}

const input = (who, run, content) => done('POST', `/v1/runs/${run}/input`, {
  token: who.token, body: { content: JSON.stringify(content) } });

// The run's events, parsed. A daemon that was just started may not listen yet.
async function story(who, run) {
  const answer = await eventually(`the events of ${run}`, async () => {
    const got = await call('GET', `/v1/runs/${run}/events?follow=false`, { token: who.token });
    return ![502, 503].includes(got.status) && got;
  });
  assert.strictEqual(answer.status, 200, answer.text);
  return answer.text.split('\n\n').flatMap((frame) => {
    const data = frame.split('\n').filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim()).join('\n');
    if (data === '') return [];
    const event = JSON.parse(data);
    const type = frame.match(/^event: ?(.*)$/m);
    return [{ ...event, ...event.data, type: type ? type[1] : event.type }];
  });
}

module.exports = {
  authorize, authorized, begin, call, done, eventually, finish, input, listed, mayRunMany, person,
  prepare, register, story, toolsOf,
};
