// An account of a private stack for the tests of chats: its key, and a persona whose searches a
// person confirms.
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

async function account() {
  const login = `ui${process.pid}`;
  const { access_token: token } = await json(await call('POST', '/v1/auth/register', '', {
    login, password: 'correct horse', email: `${login}@example.org` }));
  const { key } = await json(await call('POST', '/v1/api-keys', token, { name: 'ui' }));
  const persona = { persona_key: 'careful', version: '1', tools: ['web_search'], confirm_tools: ['web_search'] };
  await json(await call('POST', '/v1/personas?scope=org', token, persona));
  return { token, key, persona: 'careful@1' };
}

module.exports = { account, call, json };
