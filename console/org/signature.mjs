// Whether a message is signed by a secret: Standard Webhooks, symmetric (specification version 1).
// WebCrypto does it in the page: neither secret nor message is sent anywhere, kept or logged.

// Receivers refuse what is older than this, or from the future: five minutes, as the
// specification's libraries do.
const tolerance_s = 300;

const bytes_of = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const base64_of = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));

// The signature that a message should have, 'v1,…'; throws if the secret is malformed.
export async function signature_of({ secret, id, timestamp, body }) {
  const raw = bytes_of(secret.trim().replace(/^whsec_/, ''));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['sign']);
  const signed = new TextEncoder().encode(`${id.trim()}.${timestamp.trim()}.${body}`);
  return `v1,${base64_of(await crypto.subtle.sign('HMAC', key, signed))}`;
}

// 'good', 'old' (good, but its time is away from `now_s`), 'wrong', 'no_secret', 'no_time'.
// `signature`: what webhook-signature says, several of them parted by spaces.
/**
 * @param {{signature: string, now_s?: number, secret: string, id: string, timestamp: string,
 *   body: string}} given
 */
export async function check_signature({ signature, now_s = Date.now() / 1000, ...message }) {
  if (!/^\d+$/.test(message.timestamp.trim())) return 'no_time';
  let wanted;
  try {
    wanted = await signature_of(message);
  } catch {
    return 'no_secret';
  }
  if (!signature.trim().split(/\s+/).includes(wanted)) return 'wrong';
  return Math.abs(now_s - Number(message.timestamp)) > tolerance_s ? 'old' : 'good';
}
