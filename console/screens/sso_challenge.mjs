// The challenge that a browser needs for a passkey after a provider's login. A login by password
// gets it from the service. A redirect has no room for it, so it is computed from the token, as the
// service does.
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

/** @returns {Promise<import('../types/calls').Schemas['PasskeyRequestOptions']>} */
export async function challenge_of_token(token) {
  const text = new TextEncoder().encode(`challenge of ${token}`);
  const digest = await crypto.subtle.digest('SHA-256', text);
  return {
    challenge: base64url(new Uint8Array(digest)),
    timeout: 300_000,
    rpId: location.hostname,
    allowCredentials: [],
    userVerification: 'preferred',
  };
}
