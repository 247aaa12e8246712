// Second factors in flows: codes as an authenticator app computes them, accounts that have one, and
// Chromium's virtual authenticator for passkeys.
import { createHmac } from 'node:crypto';
import { base, check, mail_with, make_account, must, password, pause } from './harness.mjs';

const step_ms = 30_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

// RFC 6238: SHA-1, six digits. `steps` from now: the service takes one step before and after.
export function totp_code(secret, steps = 0) {
  const bits = [...secret.replace(/\s/g, '')]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / step_ms) + steps));
  const hash = createHmac('sha1', key).update(counter).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

// A code of the step before is taken for a while yet.
export async function within_a_step() {
  const left = step_ms - (Date.now() % step_ms);
  if (left < 8_000) await pause(left + 100);
}

export async function prove(email) {
  const [, token] = await mail_with(email, /#\/verify\?token=([\w-]+)/);
  await must('POST', '/v1/auth/email/verify/confirm', { token });
}

export async function proved_account() {
  const account = await make_account();
  await prove(account.email);
  const { access_token } = await must('POST', '/v1/auth/login', account);
  return { ...account, token: access_token };
}

// An account with an authenticator app. Its first code was that of the step before now.
export async function account_with_app() {
  const account = await proved_account();
  const { token } = account;
  const { id, secret } = await must('POST', '/v1/me/factors/totp', { name: 'phone' }, { token });
  await within_a_step();
  const { recovery_codes } = await must(
    'POST',
    `/v1/me/factors/totp/${id}:confirm`,
    { code: totp_code(secret, -1) },
    { token },
  );
  check(recovery_codes.length === 10, `${recovery_codes.length} recovery codes`);
  return { ...account, secret, recovery_codes };
}

// Fills in the first form of signing in; what it leads to is the caller's.
export async function give_password(page, account) {
  await page.getByLabel('Login or email address').fill(account.login);
  await page.getByLabel('Password', { exact: true }).fill(account.password ?? password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

// The site by a name: passkeys belong to none that is an address.
export const named_site = base.replace('127.0.0.1', 'localhost');

// Gives the browser of `page` a device that keeps passkeys, whose user is there and known to it.
export async function add_authenticator(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const set = (method, more) => session.send(`WebAuthn.${method}`, { authenticatorId, ...more });
  return {
    refuse: () => set('setUserVerified', { isUserVerified: false }),
    count: async () => (await set('getCredentials')).credentials.length,
  };
}
