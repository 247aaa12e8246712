// The package oidc-provider as the identity provider of a whole stack: people sign in by code and
// PKCE for a platform and for an organization, are linked or made, and its keys change between
// two logins. A logout there ends sessions here at once, and their open streams within 5 s.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node oidc_provider.cjs
'use strict';

const assert = require('node:assert');
const path = require('node:path');
const hostler = require('./mcp_hostler.cjs');
const { Browser, OpenIdPeer } = require('./oidc_peer.cjs');
const { Runner } = require('./runner_program.cjs');

const base = process.env.BASE_URL;
const mark = `${process.pid}x${Date.now().toString(36)}`;
const keys = { platform: `idp-${process.pid}`, org: `corp-${process.pid}` };
const domain = `corp${mark}.example`;
const streamEndMs = 5000;

const callback = (key) => `${base}/v1/auth/sso/callback/${key}`;

// As docs/sign-in.md says what to register: one client with a secret, one without.
function clients() {
  const registered = (key, further) => ({ redirect_uris: [callback(key)],
    response_types: ['code'], grant_types: ['authorization_code'],
    backchannel_logout_uri: `${base}/v1/auth/sso/backchannel-logout/${key}`,
    backchannel_logout_session_required: true, ...further });
  return [
    registered(keys.platform, { client_id: 'hostler', client_secret: 'a secret: 100%&more',
      token_endpoint_auth_method: 'client_secret_basic' }),
    registered(keys.org, { client_id: 'hostler-of-corp', token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256' }),
  ];
}

// The daemon takes the certificate of the stack for the provider's too.
async function trustLoopback() {
  const runner = new Runner();
  runner.environment.HOSTLER_OUTBOUND_CA_FILE = process.env.CA_CERT;
  await runner.kill();
  runner.start();
}

const post = (browser, where, body) => browser.open(base + where, { method: 'POST',
  headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function begin(browser, wanted) {
  const begun = await post(browser, '/v1/auth/sso/start', wanted);
  const { url, ...fault } = await begun.json();
  assert.strictEqual(begun.status, 200, JSON.stringify(fault));
  return url;
}

// Where the callback leads: the console's route with its query.
async function land(browser, back) {
  const landed = await browser.open(back);
  assert.strictEqual(landed.status, 303, await landed.text());
  const [site, route] = landed.headers.get('location').split('#');
  assert.strictEqual(site, '/console/');
  return route;
}

async function signIn(browser, wanted, name) {
  const back = await browser.visit(await begin(browser, wanted), name);
  assert.ok(back.startsWith(callback('')), back);
  return land(browser, back);
}

// The access token of the browser's refresh cookie.
async function tokenOf(browser) {
  const answer = await browser.open(`${base}/v1/auth/refresh`, { method: 'POST' });
  const text = await answer.text();
  assert.strictEqual(answer.status, 200, text);
  return JSON.parse(text).access_token;
}

async function sessionOf(browser, wanted, name) {
  assert.strictEqual(await signIn(browser, wanted, name), '/');
  return tokenOf(browser);
}

const me = (token) => hostler.done('GET', '/v1/me', { token });
const byKey = { provider_key: keys.platform };

async function checkNewUser(peer) {
  const email = `ada${mark}@example.org`;
  peer.people.ada = { email, email_verified: true, preferred_username: `ada${mark}` };
  const browser = new Browser();
  const route = await signIn(browser, { ...byKey, return_to: '/threads' }, 'ada');
  assert.strictEqual(route, '/threads');
  const user = await me(await tokenOf(browser));
  assert.strictEqual(user.email, email);
  assert.strictEqual(user.email_verified, true);
  // The next login finds the link, whatever the address is by then.
  peer.people.ada.email = `other${mark}@example.org`;
  const token = await sessionOf(new Browser(), byKey, 'ada');
  assert.strictEqual((await me(token)).id, user.id);
  const [link] = await hostler.done('GET', '/v1/me/identities', { token });
  assert.strictEqual(link.issuer, peer.issuer);
  assert.deepStrictEqual([...peer.methods], ['S256']);
}

// An account that proved the address signs in once in its usual way, in this browser.
async function checkLinking(peer, admin) {
  const login = `bob${mark}`;
  const account = { login, password: 'correct horse', email: `${login}@example.org` };
  await hostler.done('POST', '/v1/auth/register', { body: account });
  const [found] = await hostler.done('GET', `/v1/admin/users?q=${login}`, { token: admin });
  await hostler.done('PATCH', `/v1/admin/users/${found.id}`, {
    token: admin, body: { email_verified: true } });
  peer.people.bob = { email: account.email, email_verified: true };
  const browser = new Browser();
  assert.strictEqual(await signIn(browser, byKey, 'bob'), `/sign-in?link=${keys.platform}`);
  const usual = await post(browser, '/v1/auth/login', { login, password: account.password });
  assert.strictEqual(usual.status, 200, await usual.text());
  assert.strictEqual((await me(await sessionOf(new Browser(), byKey, 'bob'))).id, found.id);
}

async function checkStrangers(peer) {
  const error = async (name, claims, wanted = byKey) => {
    peer.people[name] = claims;
    const route = await signIn(new Browser(), wanted, name);
    return new URLSearchParams(route.split('?')[1]).get('error');
  };
  const ofOrg = { provider_key: keys.org };
  assert.strictEqual(await error('unproved', { email: `u${mark}@example.org` }),
    'auth.sso_unknown_user');
  assert.strictEqual(await error('nobody', {}), 'auth.sso_unknown_user');
  for (const [name, address] of [['sub', `a@sub.${domain}`], ['alike', `a@${domain}.evil.test`],
    ['other', `a${mark}@example.org`], ['cyrillic', `a@с${domain.slice(1)}`]]) {
    assert.strictEqual(await error(name, { email: address, email_verified: true }, ofOrg),
      'auth.sso_unknown_user', address);
  }
  assert.strictEqual(await error('', {}), 'auth.sso_refused');
}

// Codes, states and cookies of honest flows, put together wrongly.
async function checkMixUps(peer) {
  peer.people.eve = { email: `eve@${domain}`, email_verified: true };
  const error = async (browser, back) =>
    new URLSearchParams((await land(browser, back)).split('?')[1]).get('error');
  const back = async (browser, key) =>
    new URL(await browser.visit(await begin(browser, { provider_key: key }), 'eve'));
  const mixed = (of, code) => {
    const url = new URL(of);
    url.searchParams.set('code', code.searchParams.get('code'));
    return url.href;
  };
  const browser = new Browser();
  const ofPlatform = await back(browser, keys.platform);
  const ofOrg = await back(browser, keys.org);
  const swapped = ofOrg.href.replace(callback(keys.org), callback(keys.platform));
  assert.strictEqual(await error(browser, swapped), 'auth.sso_state_invalid');
  assert.strictEqual(await error(new Browser(), ofOrg.href), 'auth.sso_state_invalid');
  assert.strictEqual(await error(browser, mixed(ofPlatform, ofOrg)), 'auth.sso_failed');
  const used = await back(browser, keys.org);
  assert.strictEqual(await land(browser, used.href), '/');
  assert.strictEqual(await error(browser, used.href), 'auth.sso_state_invalid');
  const fresh = await back(browser, keys.org);
  assert.strictEqual(await error(browser, mixed(fresh, used)), 'auth.sso_failed');
}

async function checkOrganization(peer, org) {
  peer.people.eve = { email: `eve@${domain}`, email_verified: true, groups: ['bosses'] };
  const token = await sessionOf(new Browser(), { email: `EVE@${domain}` }, 'eve');
  const user = await me(token);
  assert.deepStrictEqual([user.org_id, user.role], [org, 'admin']);
  peer.people.eve.groups = ['all'];
  const later = await sessionOf(new Browser(), { email: `eve@${domain}` }, 'eve');
  assert.strictEqual((await me(later)).role, 'member');
}

async function checkRotation(peer) {
  peer.isThrifty = true;  // claims are at its userinfo endpoint alone from now on
  peer.rotate('second');
  peer.people.fay = { email: `fay@${domain}`, email_verified: true, groups: ['bosses'] };
  const token = await sessionOf(new Browser(), { provider_key: keys.org }, 'fay');
  const { email, role } = await me(token);
  assert.deepStrictEqual([email, role], [peer.people.fay.email, 'admin']);
  await sessionOf(new Browser(), byKey, 'ada');
  await sessionOf(new Browser(), { provider_key: keys.org }, 'eve');
}

// The body of a stream of a run that goes on; the promise is when it ended.
async function openStream(token) {
  const thread = await hostler.done('POST', '/v1/threads', { token, body: {} });
  await hostler.done('POST', `/v1/threads/${thread.id}/messages`, {
    token, body: { content: '[delay 500] [words 120]' } });
  const run = await hostler.done('POST', `/v1/threads/${thread.id}/runs`, { token, body: {} });
  const stream = await fetch(`${base}/v1/runs/${run.run_id ?? run.id}/events`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' } });
  assert.strictEqual(stream.status, 200);
  const reader = stream.body.getReader();
  await reader.read();
  const ended = (async () => {
    try {
      while (!(await reader.read()).done);
    } catch { /* a connection that is cut has ended too */ }
    return Date.now();
  })();
  return { ended };
}

// Within the second in which the session began, too.
async function checkLogoutAtOnce(peer) {
  const browser = new Browser();
  const token = await sessionOf(browser, { provider_key: keys.org }, 'eve');
  await browser.leave(peer.issuer);
  assert.strictEqual((await hostler.call('GET', '/v1/me', { token })).status, 401);
}

async function checkLogout(peer) {
  const browser = new Browser();
  const ended = await sessionOf(browser, byKey, 'ada');
  const elsewhere = await sessionOf(new Browser(), byKey, 'ada');
  const stream = await openStream(ended);
  const sent = peer.logouts.length;
  await browser.leave(peer.issuer);
  const left = Date.now();
  assert.deepStrictEqual(peer.logouts.slice(sent).map(({ status }) => status), [200]);
  assert.strictEqual((await hostler.call('GET', '/v1/me', { token: ended })).status, 401);
  const refused = await browser.open(`${base}/v1/auth/refresh`, { method: 'POST' });
  assert.strictEqual(refused.status, 401);
  const took = await stream.ended - left;
  assert.ok(took < streamEndMs, `the stream ended after ${took} ms`);
  await me(elsewhere);
  const again = await fetch(`${base}/v1/auth/sso/backchannel-logout/${keys.platform}`, {
    method: 'POST', body: new URLSearchParams({ logout_token: peer.logouts.at(-1).token }) });
  assert.strictEqual(again.status, 400);
  assert.strictEqual(again.headers.get('cache-control'), 'no-store');
  return took;
}

async function main() {
  const admin = await hostler.prepare();
  await trustLoopback();
  const key = path.join(path.dirname(process.env.CA_CERT), 'tls/key.pem');
  const peer = await OpenIdPeer.start({ certificate: process.env.CA_CERT, key }, clients);
  const add = (scope, token, body) =>
    hostler.done('POST', `/v1/identity-providers?scope=${scope}`, { token,
      body: { key: keys[scope], display_name: scope, issuer: peer.issuer, ...body } });
  await add('platform', admin, { client_id: 'hostler', client_secret: 'a secret: 100%&more',
    create_users: true });
  const owner = await hostler.person('owner');
  const { org_id: org } = await me(owner.token);
  await hostler.done('POST', '/v1/admin/org-domains', {
    token: admin, body: { org_id: org, domain } });
  await add('org', owner.token, { client_id: 'hostler-of-corp', domains: [domain],
    create_users: true, groups_claim: 'groups', role_map: { bosses: 'admin' } });

  await checkNewUser(peer);
  await checkLinking(peer, admin);
  await checkOrganization(peer, org);
  await checkStrangers(peer);
  await checkMixUps(peer);
  await checkRotation(peer);
  await checkLogoutAtOnce(peer);
  const took = await checkLogout(peer);
  peer.close();
  console.log(`  a stream ended ${took} ms after the logout`);
}

setTimeout(() => { throw new Error('it does not end'); }, 120_000).unref();
main().catch((error) => { console.error(error.stack); process.exit(1); });
