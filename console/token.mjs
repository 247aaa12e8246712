// The access token: only in the memory of this page, renewed from the refresh cookie, which no
// script can read. One page of the browser does so at a time, and gives what it got to the others.
import { error_of_response } from './error.mjs';
import { keep, kept_setting } from './settings.mjs';

const refresh_seconds = 15;
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('hostler.session') : null;
const watchers = new Set();
let token = '';
let renewal = null;

export const access_token = () => token;

// on_change('in' or 'out', is_from_here): a session began or ended, here or in another tab.
export const watch_session = (on_change) => watchers.add(on_change);
const report = (what, is_from_here) => watchers.forEach((watcher) => watcher(what, is_from_here));

// The session of this page has ended: forget what the page keeps of its user.
export const report_end = () => report('out', true);

// Whether it is worth asking for a token: a sign-in happened in this browser and no sign-out.
export const was_signed_in = () => kept_setting('signed_in') === 'yes';

export function begin_session(given) {
  token = given;
  keep('signed_in', 'yes');
  channel?.postMessage({ what: 'in', token });
}

// Forgets it in every tab.
export function end_session() {
  if (!token && !was_signed_in()) return;
  token = '';
  keep('signed_in', null);
  channel?.postMessage({ what: 'out' });
  report_end();
}

channel?.addEventListener('message', ({ data }) => {
  if (data.what === 'renewed') {
    if (token) token = data.token;
  } else if (data.what === 'in') {
    token = data.token;
    report('in', false);
  } else if (data.what === 'out') {
    token = '';
    report('out', false);
  }
});

async function trade_cookie() {
  const response = await fetch('/v1/auth/refresh', {
    method: 'POST',
    cache: 'no-store',
    credentials: 'same-origin',
    signal: AbortSignal.timeout(refresh_seconds * 1000),
  });
  if (response.ok) {
    token = (await response.json()).access_token;
    keep('signed_in', 'yes');
    channel?.postMessage({ what: 'renewed', token });
    return token;
  }
  const error = await error_of_response(response);
  if (error.status !== 401) throw error;
  end_session();
  return '';
}

// A token other than `refused`, or '' when the session has ended. Throws ApiError when nobody
// knows.
export function renew_token(refused) {
  if (token && token !== refused) return Promise.resolve(token);
  const work = () => (token && token !== refused ? token : trade_cookie());
  renewal ??= navigator.locks ? navigator.locks.request('hostler.refresh', work) : work();
  const mine = renewal;
  const forget = () => {
    if (renewal === mine) renewal = null;
  };
  mine.then(forget, forget);
  return mine;
}
