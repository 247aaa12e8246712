// The identity provider of oidc_provider.cjs: the package oidc-provider as it is, with https on
// loopback, two clients and keys that rotate; and a browser that a person uses there. It speaks to
// Hostler as any provider on the Internet does: metadata, keys, codes, back-channel logout.
'use strict';

const assert = require('node:assert');
const { generateKeyPairSync } = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');

// Its advice for production goes to the console.
for (const name of ['info', 'warn']) console[name] = () => {};
const { Provider } = require('oidc-provider');

const pagesMax = 12;

function newKeys(name) {
  const jwk = (pair, alg) => ({ ...pair.privateKey.export({ format: 'jwk' }), use: 'sig',
    kid: `${name}-${alg}`, ...(alg === 'EC' ? {} : { alg }) });
  const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
  return [jwk(rsa(), 'RS256'), jwk(rsa(), 'PS256'),
    jwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'EC')];
}

// A provider on loopback with the certificate and key of these files. people: claims by
// the name with which somebody signs in. clients: their metadata.
class OpenIdPeer {
  people = {};
  logouts = [];  // {token, status} of each back-channel logout that it sent
  isThrifty = false;
  methods = new Set();  // code_challenge_method of each authorization
  #clients;
  #answer;

  static async start({ certificate, key }, makeClients) {
    const peer = new OpenIdPeer();
    peer.server = https.createServer({ cert: fs.readFileSync(certificate),
      key: fs.readFileSync(key) }, (request, response) => peer.#answer(request, response));
    await new Promise((done) => { peer.server.listen(0, '127.0.0.1', done); });
    peer.issuer = `https://127.0.0.1:${peer.server.address().port}`;
    peer.#clients = makeClients(peer.issuer);
    peer.rotate('first');
    return peer;
  }

  // New keys sign from now on, and the old ones are gone. Sessions and grants stay.
  rotate(name) {
    const provider = new Provider(this.issuer, {
      clients: this.#clients,
      jwks: { keys: newKeys(name) },
      cookies: { keys: ['of the test'] },
      // Most providers send the claims of scopes in ID tokens. The package's default does not.
      conformIdTokenClaims: this.isThrifty,
      claims: { openid: ['sub'], email: ['email', 'email_verified'],
        profile: ['preferred_username', 'groups'] },
      enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256'] },
      pkce: { required: () => true },
      features: { backchannelLogout: { enabled: true } },
      findAccount: (_, id) => this.people[id]
        && { accountId: id, claims: () => ({ sub: id, ...this.people[id] }) },
      // Its own guard would keep it from loopback.
      fetch: (url, { dispatcher, ...options }) => this.#send(url, options),
    });
    provider.on('authorization.accepted', (context) => {
      this.methods.add(context.oidc.params.code_challenge_method);
    });
    provider.on('server_error', (_, error) => console.error('oidc-provider:', error));
    this.#answer = provider.callback();
  }

  async #send(url, options) {
    const answer = await fetch(url, options);
    this.logouts.push({ token: options.body.get('logout_token'), status: answer.status });
    return answer;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// Cookies by host, as far as these tests need them.
class Browser {
  #jars = new Map();

  cookies(url) {
    const jar = this.#jars.get(new URL(url).host) ?? new Map();
    return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async open(url, { headers, ...options } = {}) {
    const answer = await fetch(url, { redirect: 'manual', ...options,
      headers: { ...headers, cookie: this.cookies(url) } });
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map();
    this.#jars.set(host, jar);
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = set.match(/^([^=]+)=([^;]*)/);
      const isOver = value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(set);
      if (isOver) jar.delete(name); else jar.set(name, value);
    }
    return answer;
  }

  // Follows the provider's pages as this person until they lead away from it; answers where to.
  // A person without a name turns back at the first page.
  async visit(url, name) {
    const { origin } = new URL(url);
    let answer = await this.open(url);
    for (let pages = 0; pages < pagesMax; ++pages) {
      const to = answer.headers.get('location');
      if (to && !to.startsWith(origin) && !to.startsWith('/')) return to;
      if (to) {
        answer = await this.open(new URL(to, url).href);
      } else {
        const page = await answer.text();
        assert.strictEqual(answer.status, 200, page);
        answer = await this.#submit(new URL(url), page, name);
      }
    }
    throw new Error(`${url} leads nowhere`);
  }

  #submit(url, page, name) {
    const [, back] = page.match(/href="([^"]*\/abort)"/) ?? [];
    if (!name) return this.open(new URL(back, url).href);
    const [, action] = page.match(/<form[^>]* action="([^"]*)"/);
    const hidden = [...page.matchAll(/name="(prompt|xsrf)" value="([^"]*)"/g)];
    const form = new URLSearchParams(hidden.map(([, member, value]) => [member, value]));
    form.set(form.has('xsrf') ? 'logout' : 'login', name);
    form.set('password', 'any');
    return this.open(new URL(action, url).href, { method: 'POST', body: form });
  }

  // Signs out at the provider, which tells its clients.
  async leave(issuer) {
    const page = await (await this.open(`${issuer}/session/end`)).text();
    const answer = await this.#submit(new URL(issuer), page, 'yes');
    assert.strictEqual(answer.status, 303, await answer.text());
  }
}

module.exports = { Browser, OpenIdPeer };
