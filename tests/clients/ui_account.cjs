// Accounts of a private stack for the tests of clients: one with its key, and a persona whose
// searches a person confirms; and one without credits.
'use strict';

const assert = require('node:assert');

function call(method, path, token, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  if (body) headers['content-type'] = 'application/json';
  return fetch(process.env.BASE_URL + path, { method, headers, body: body && JSON.stringify(body) });
}

async function json(answer) {
  const text = await answer.text();
  assert.ok(answer.status < 300, `${answer.url}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

async function register(name) {
  const login = `${name}${process.pid}`;
  const { access_token: token } = await json(await call('POST', '/v1/auth/register', '', {
    login, password: 'correct horse', email: `${login}@example.org` }));
  const { key } = await json(await call('POST', '/v1/api-keys', token, { name }));
  return { token, key };
}

async function account() {
  const { token, key } = await register('ui');
  const persona = { persona_key: 'careful', version: '1', tools: ['web_search'], confirm_tools: ['web_search'] };
  await json(await call('POST', '/v1/personas?scope=org', token, persona));
  return { token, key, persona: 'careful@1' };
}

// Its model costs something, and it has nothing.
async function poorAccount() {
  const { token, key } = await register('poor');
  const { access_token: admin } = await json(await call('POST', '/v1/auth/login', '', {
    login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD }));
  const made = async (path, body) => json(await call('POST', `${path}?scope=platform`, admin, body));
  const provider = await made('/v1/llm-providers', {
    name: `dear${process.pid}`, provider_kind: 'openai', base_url: `${process.env.MODEL_URL}/v1` });
  const route = await made(`/v1/llm-providers/${provider.id}/models`, {
    model: `dear${process.pid}`, input_usd_per_mtok: 1000 });
  const { org_id } = await json(await call('GET', '/v1/me', token));
  const { balance } = await json(await call('GET', '/v1/me/credits', token));
  await json(await call('POST', '/v1/admin/credits/adjust', admin, { org_id, amount: -balance }));
  return { key, model: `route:${route.id}` };
}

module.exports = { account, call, json, poorAccount };
