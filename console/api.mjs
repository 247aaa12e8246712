// Calls of the service. Every screen's calls go through here: the token, the organization, renewal,
// repeats of what is safe to repeat, one form of error, and the list that "copy as curl" shows.
import { ApiError, error_of, error_of_response, is_abort } from './error.mjs';
import { record_call } from './recorder.mjs';
import { store } from './store.mjs';
import { access_token, renew_token } from './token.mjs';

const tries_max = 3;
const try_again_ms = 400;
const wait_max_seconds = 5;
const call_seconds = 60;

// How many calls are under way; the frame shows that it works.
export const busy = store(0);

// Sent as X-Org-Id by every call of a signed-in user but those below /v1/auth; '' sends none.
let org_id = '';
export const acting_org = () => org_id;
export function act_in_org(id) {
  org_id = id ?? '';
}

// Called when the service refuses a call of a signed-in user for who they are: what is known of
// them may be old.
let on_refusal = () => {};
export function watch_refusals(watcher) {
  on_refusal = watcher;
}
const refusals = new Set([
  'auth.forbidden',
  'auth.email_unverified',
  'auth.factor_setup_required',
  'orgs.not_found',
]);

// `path` with the members of `query` that are set: strings, numbers, booleans.
/** @type {import('./types/calls').WithQuery} */
export const with_query = (path, query = {}) => {
  const given = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const both = text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path;
  return /** @type {typeof path} */ (both);
};

// The path and query of `rel="next"`, or null.
function next_of(headers) {
  const found = headers.get('link')?.match(/<([^>]*)>\s*;[^,]*\brel="?next"?/);
  if (!found) return null;
  const url = new URL(found[1], location.origin);
  return url.pathname + url.search;
}

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });

function head_fields({ path, body, is_open, idempotency_key, headers, org }, token) {
  const fields = { Accept: 'application/json', ...headers };
  if (body !== undefined) fields['Content-Type'] = 'application/json';
  if (idempotency_key) fields['Idempotency-Key'] = idempotency_key;
  if (!is_open && token) fields.Authorization = `Bearer ${token}`;
  if (!is_open && token && org && !path.startsWith('/v1/auth/')) fields['X-Org-Id'] ??= org;
  return fields;
}

// One exchange, and a second one with a new token where the first was refused for the old one.
async function exchange(request) {
  let token = request.is_open ? '' : access_token() || (await renew_token(''));
  for (let has_renewed = false; ; has_renewed = true) {
    const fields = head_fields(request, token);
    record_call(request, fields);
    const response = await fetch(request.path, {
      method: request.method,
      headers: fields,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: request.signal,
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
    });
    if (response.ok) return response;
    const error = await error_of_response(response);
    if (!request.is_open && refusals.has(error.code)) on_refusal();
    const is_stale = error.code === 'auth.token_expired' || error.code === 'auth.invalid_token';
    if (request.is_open || has_renewed || !is_stale) throw error;
    token = await renew_token(token);
    if (!token) throw error;
  }
}

const is_passing = (error) =>
  error.code === 'network.unreachable' ||
  error.code === 'network.timeout' ||
  error.status === 502 ||
  error.status === 503 ||
  error.status === 504;

async function exchange_with_repeats(request) {
  const is_repeatable = request.method === 'GET' || Boolean(request.idempotency_key);
  for (let tries = 1; ; ++tries) {
    try {
      return await exchange(request);
    } catch (thrown) {
      if (is_abort(thrown)) throw thrown;
      const error = error_of(thrown);
      const wait = error.retry_after ?? (try_again_ms * 2 ** (tries - 1)) / 1000;
      if (!is_repeatable || !is_passing(error) || tries === tries_max || wait > wait_max_seconds) {
        throw error;
      }
      await pause(wait * 1000, request.signal);
    }
  }
}

function with_limit(signal) {
  const limit = AbortSignal.timeout(call_seconds * 1000);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

function prepared(method, path, body, options) {
  const { query, idempotency_key, ...others } = options;
  return {
    method,
    path: with_query(path, query),
    body,
    ...others,
    // A user who switches the organization meanwhile takes no call along, nor a repeat of it.
    org: org_id,
    idempotency_key: idempotency_key === true ? crypto.randomUUID() : idempotency_key,
  };
}

async function call(method, path, body, options = {}) {
  busy.set(busy.get() + 1);
  try {
    const request = prepared(method, path, body, {
      ...options,
      signal: with_limit(options.signal),
    });
    const response = await exchange_with_repeats(request);
    const text = await response.text();
    let parsed = null;
    try {
      parsed = text === '' ? null : JSON.parse(text);
    } catch {
      throw new ApiError({
        code: 'http.unreadable_answer',
        title: 'The answer is no JSON',
        status: response.status,
        trace_id: response.headers.get('x-trace-id') ?? '',
      });
    }
    return {
      status: response.status,
      body: parsed,
      headers: response.headers,
      next: next_of(response.headers),
    };
  } catch (thrown) {
    if (is_abort(thrown)) throw thrown;
    throw error_of(thrown);
  } finally {
    busy.set(busy.get() - 1);
  }
}

// Each gives {status, body (parsed, null when empty), headers (of fetch), next (path of the next
// page or null)}, or throws ApiError (AbortError when `signal` was aborted). Options, none needed:
//   query             members of the query
//   idempotency_key   true: a new one; a string: that one. Such a call is repeated when no answer
//   came
//   headers           further header fields
//   signal            an AbortSignal
//   is_open           sent without a token, for the endpoints that need none
//   secrets           {member of the body: variable that stands for it in "copy as curl"}
/** @type {import('./types/calls').Api} */
export const api = /** @type {any} */ ({
  get: (path, options) => call('GET', path, undefined, options),
  post: (path, body, options) => call('POST', path, body, options),
  put: (path, body, options) => call('PUT', path, body, options),
  patch: (path, body, options) => call('PATCH', path, body, options),
  del: (path, body, options) => call('DELETE', path, body, options),
  // The Response itself, its body unread, for event streams: no time limit, no repeats.
  async open(path, options = {}) {
    try {
      return await exchange(prepared('GET', path, undefined, options));
    } catch (thrown) {
      if (is_abort(thrown)) throw thrown;
      throw error_of(thrown);
    }
  },
});

// The items of all pages of a list.
/** @type {import('./types/calls').AllPages} */
export async function all_pages(path, ...rest) {
  void rest;
  const items = [];
  for (let next = /** @type {any} */ (path); next !== null; ) {
    const page = await api.get(/** @type {import('./types/calls').Next<any[]>} */ (next));
    items.push(...page.body);
    next = page.next;
  }
  return items;
}
