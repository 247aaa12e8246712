// An OpenID provider for flows: tests/support/peers/openid_provider.py with a certificate that the
// stack trusts. Its page says yes at once.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './harness.mjs';

// A folder with ca.pem and key.pem for 127.0.0.1; other users may read the certificate.
export function make_certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'openid-'));
  chmodSync(folder, 0o755);
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1', '-addext', 'basicConstraints=CA:TRUE'],
    ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'ca.pem')],
  ], { stdio: 'ignore' });
  return folder;
}

// {url, issuer(name), says(name, members), close()}; `says`: what the provider of that name says
// from then on.
export async function start_openid(folder) {
  const program = 'tests/support/peers/openid_provider.py';
  const files = ['ca.pem', 'key.pem', 'record'].map((name) => join(folder, name));
  const child = spawn('/usr/bin/python3', [program, ...files]);
  let text = '';
  const port = await new Promise((resolve, reject) => {
    child.stdout.on('data', (piece) => {
      text += piece;
      const found = text.match(/listening on (\d+)/);
      if (found) resolve(found[1]);
    });
    child.stderr.on('data', (piece) => (text += piece));
    child.on('close', () => reject(new Error(`the provider ended: ${text}`)));
  });
  const url = `https://127.0.0.1:${port}`;
  return {
    url,
    issuer: (name) => `${url}/${name}`,
    async says(name, members) {
      const body = JSON.stringify(members);
      const { ok } = await fetch(`${url}/set/${name}`, { method: 'POST', body });
      check(ok, `${name} says ${body}`);
    },
    close: () => child.kill(),
  };
}

export const forget_certificate = (folder) => rmSync(folder, { recursive: true, force: true });
