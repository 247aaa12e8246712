// Runs that wait for the signed-in user, over all threads: known to every screen, for the number in
// the navigation, the title and the icon of the tab. Asked again now and then while the page is
// shown, and rarely behind others.
import { all_pages, with_query } from '../api.mjs';
import { watch_changes } from '../chat/service.mjs';
import { set_notice } from '../notices.mjs';
import { session } from '../session.mjs';
import { store } from '../store.mjs';

const shown_ms = 15_000;
const hidden_ms = 60_000;

// { runs, error }: runs null until the first answer; the longest wait first.
/** @type {import('../store.mjs').Store<{error: any,
 *   runs: import('../types/calls').Schemas['RunListItem'][] | null}>} */
export const waits = store({ runs: null, error: null });
export const wait_count = store(0);
waits.watch(({ runs }) => {
  wait_count.set(runs?.length ?? 0);
  set_notice('waits', runs?.length ?? 0);
});

let timer = 0;
let is_loading = false;
let is_stale = false; // something changed since what is read now was asked for

// A user who must verify the address first sees no organization and has no waiting runs.
function is_signed_in() {
  const { state, orgs } = session.get();
  return state === 'in' && orgs.length > 0;
}

async function read_waits() {
  if (!is_signed_in()) return;
  const { me } = session.get();
  const is_past = () => {
    const now = session.get().me;
    return now?.id !== me.id || now.org_id !== me.org_id;
  };
  try {
    const all = await all_pages(
      with_query('/v1/runs', { status: 'waiting_for_input', limit: 200 }),
    );
    if (is_past()) return;
    // Only the creator may answer, and nobody answers a wait for a budget.
    const is_answered = ({ waiting }) => waiting !== null && waiting.kind !== 'budget';
    const mine = all.filter((run) => run.created_by_user_id === me.id && is_answered(run));
    mine.sort((a, b) => (a.waiting.since < b.waiting.since ? -1 : 1));
    waits.set({ runs: mine, error: null });
  } catch (error) {
    if (!is_past()) waits.set({ runs: waits.get().runs, error });
  }
}

export async function load_waits() {
  if (is_loading) {
    is_stale = true;
    return;
  }
  is_loading = true;
  do {
    is_stale = false;
    await read_waits();
  } while (is_stale);
  is_loading = false;
}

function plan() {
  clearTimeout(timer);
  timer = setTimeout(() => load_waits().finally(plan), document.hidden ? hidden_ms : shown_ms);
}

let acting_as = '';
function look() {
  const { state, me } = session.get();
  const next = state === 'in' ? `${me.id} ${me.org_id}` : '';
  if (next === acting_as) return;
  acting_as = next;
  waits.set({ runs: null, error: null });
  ended = 0;
  set_notice('ended', 0);
  if (next) load_waits();
}

// A run ended behind the reader's back: the tab says so until it is looked at.
let ended = 0;
export function note_end() {
  if (document.hidden) set_notice('ended', ++ended);
}

// Begins to ask; called once, when the page starts.
export function start_waits() {
  session.watch(look);
  look();
  watch_changes(['waits'], load_waits);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      ended = 0;
      set_notice('ended', 0);
      load_waits();
    }
    plan();
  });
  plan();
}
