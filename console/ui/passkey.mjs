// Passkeys of this browser (WebAuthn), in the JSON forms of the service. Loaded where a passkey is
// added or used.
import { ApiError } from '../error.mjs';
import { t } from '../i18n.mjs';
import '../words/factors.mjs';

/** @typedef {import('../types/calls').Schemas} Schemas */

export const has_passkeys = () => 'PublicKeyCredential' in globalThis;

const bytes_of = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0));
const text_of = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');
const named = (list) => list.map((one) => ({ ...one, id: bytes_of(one.id) }));

// Names of the browser's errors, and the codes that the screens show for them.
const faults = {
  NotAllowedError: 'passkey.not_used',
  AbortError: 'passkey.not_used',
  InvalidStateError: 'passkey.known',
  NotSupportedError: 'passkey.not_supported',
  SecurityError: 'passkey.other_site',
};
async function asked(work) {
  if (!has_passkeys()) throw fault_of('passkey.not_supported');
  try {
    return await work();
  } catch (thrown) {
    throw thrown.name in faults ? fault_of(faults[thrown.name]) : thrown;
  }
}
const fault_of = (code) => new ApiError({ code, title: t(`error.of.${code}`) });

// Makes a passkey. `options`: what POST /v1/me/factors/passkeys:begin answered.
/**
 * @param {Schemas['PasskeyCreationOptions']} options
 * @returns {Promise<Schemas['PasskeyRegistration']>}
 */
export function make_passkey(options) {
  return asked(async () => {
    const made = /** @type {any} */ (
      await navigator.credentials.create({
        publicKey: /** @type {any} */ ({
          ...options,
          challenge: bytes_of(options.challenge),
          user: { ...options.user, id: bytes_of(options.user.id) },
          excludeCredentials: named(options.excludeCredentials),
        }),
      })
    );
    return {
      id: made.id,
      rawId: text_of(made.rawId),
      type: made.type,
      response: {
        clientDataJSON: text_of(made.response.clientDataJSON),
        attestationObject: text_of(made.response.attestationObject),
      },
    };
  });
}

// Lets the user answer with a passkey. `options`: those of a login or of POST
// /v1/auth/passkey:begin.
/**
 * @param {Schemas['PasskeyRequestOptions']} options
 * @returns {Promise<Schemas['PasskeyAnswer']>}
 */
export function use_passkey(options) {
  return asked(async () => {
    const used = /** @type {any} */ (
      await navigator.credentials.get({
        publicKey: /** @type {any} */ ({
          ...options,
          challenge: bytes_of(options.challenge),
          allowCredentials: named(options.allowCredentials),
        }),
      })
    );
    const { clientDataJSON, authenticatorData, signature, userHandle } = used.response;
    return {
      id: used.id,
      rawId: text_of(used.rawId),
      type: used.type,
      response: {
        clientDataJSON: text_of(clientDataJSON),
        authenticatorData: text_of(authenticatorData),
        signature: text_of(signature),
        userHandle: userHandle && text_of(userHandle),
      },
    };
  });
}
