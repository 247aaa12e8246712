// The signed-in user, and the organization in which the page acts.
import { ask_ahead, forget_ahead } from './ahead.mjs';
import { act_in_org, acting_org, all_pages, api, watch_refusals, with_query } from './api.mjs';
import { is_back } from './away.mjs';
import { error_of } from './error.mjs';
import { keep, kept_setting } from './settings.mjs';
import { place } from './router.mjs';
import { store } from './store.mjs';
import {
  access_token,
  begin_session,
  end_session,
  renew_token,
  report_end,
  watch_session,
  was_signed_in,
} from './token.mjs';

// {state: 'starting', 'out', 'in' or 'failed' (error says why), me, orgs, needs_factor, error}.
// `me` is GET /v1/me in the organization that is acted in, `orgs` GET /v1/orgs. needs_factor: the
// user has to add a second factor before anything else works.
/** @typedef {import('./types/calls').Schemas} Schemas */
/** @type {import('./store.mjs').Store<{state: string, me: Schemas['Me'] | null,
 *   orgs: Schemas['Org'][], needs_factor: boolean,
 *   error: import('./error.mjs').ApiError | null}>} */
export const session = store({
  state: 'starting',
  me: null,
  orgs: [],
  needs_factor: false,
  error: null,
});
const signed_out = { state: 'out', me: null, orgs: [], needs_factor: false, error: null };

// Refused while the address has to be proved, or a second factor added, first: the frame says so.
async function orgs_or_none() {
  try {
    const orgs = await all_pages(with_query('/v1/orgs', { limit: 200 }));
    return { orgs, needs_factor: false };
  } catch (error) {
    if (error.status !== 403) throw error;
    return { orgs: [], needs_factor: error.code === 'auth.factor_setup_required' };
  }
}

// The load that began last counts.
let loads = 0;

async function load(mine) {
  let me;
  let asked = orgs_or_none();
  // A failure is reported where the answer is awaited below.
  asked.catch(() => {});
  try {
    me = (await api.get('/v1/me')).body;
  } catch (error) {
    // No member there any more: the personal organization is always one's own.
    if (error.code !== 'orgs.not_found' || !acting_org()) throw error;
    if (mine !== loads) return;
    choose_org('');
    asked = orgs_or_none();
    asked.catch(() => {});
    me = (await api.get('/v1/me')).body;
  }
  const found = await asked;
  if (mine !== loads) return;
  // Somebody else signed in where nobody had signed out: they find nothing of who was here.
  if (session.get().me && session.get().me.id !== me.id) report_end();
  act_in_org(me.org_id);
  session.set({ state: 'in', me, ...found, error: null });
}

async function load_or_fail() {
  const mine = ++loads;
  try {
    await load(mine);
  } catch (thrown) {
    if (mine !== loads) return;
    const error = error_of(thrown);
    session.set(error.status === 401 ? signed_out : { ...session.get(), state: 'failed', error });
  }
}

function choose_org(id) {
  forget_ahead();
  act_in_org(id);
  keep('org', id || null);
}

// Where this browser acted last.
const act_where_left = () => act_in_org(kept_setting('org') ?? '');

export async function start_session() {
  act_where_left();
  // A provider leads to the sign-in page where it began no session.
  const comes_by_provider = is_back() && place.get().path !== '/sign-in';
  if (!was_signed_in() && !comes_by_provider) {
    session.set(signed_out);
    return;
  }
  try {
    if (await renew_token('')) {
      // Other tabs may have been somebody else's.
      if (comes_by_provider) begin_session(access_token());
      const { about, query } = place.get();
      const loading = load_or_fail();
      ask_ahead(about.ahead?.(query) ?? []);
      await loading;
    } else session.set(signed_out);
  } catch (error) {
    session.set({ ...signed_out, state: 'failed', error: error_of(error) });
  }
}

// With the access token that signing in or registering gave.
export async function signed_in(token) {
  begin_session(token);
  act_where_left();
  await load_or_fail();
}

// Ends the session on the server and in every tab; `is_all`: those of all devices.
export async function sign_out({ is_all = false } = {}) {
  await api.post('/v1/auth/logout', undefined, { query: { all: is_all || undefined } });
  forget_session();
}

// The account is gone, or its sessions ended: nothing to tell the server.
export function forget_session() {
  choose_org('');
  end_session();
}

export async function switch_org(id) {
  choose_org(id);
  await load_or_fail();
}

// After changes of the profile or of organizations.
export const reload_session = load_or_fail;

// Whether the user may do it in the organization that is acted in; what may not be done is not
// offered.
export const may = (permission) => session.get().me?.permissions.includes(permission) ?? false;

// Somebody may have changed what the user may do here, or whether they are here at all.
let is_looking = false;
watch_refusals(async () => {
  if (is_looking || session.get().state !== 'in') return;
  is_looking = true;
  try {
    await load(++loads);
  } catch {
    // The screen stays, with the error that it shows.
  }
  is_looking = false;
});

watch_session((what) => {
  if (what === 'out') {
    ++loads;
    session.set(signed_out);
  } else if (access_token()) load_or_fail();
});
