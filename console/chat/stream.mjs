// Follows the events of one run: GET /v1/runs/{run_id}/events by fetch, since EventSource cannot
// send an Authorization header. Whatever happens to connection, laptop or daemon, `on_events`
// gets every event once and in order (docs/contract.md, section 4): each break is followed by a
// request with the last number that was handed on. Called by the screens; it draws nothing and
// keeps no event.
import { parse_json } from './show_json.mjs';
import { sse_reader } from './sse.mjs';

// The server pings every 15 s; two that are missing, and some, mean a dead connection or a sleep.
export const silence_ms_max = 40_000;
const check_ms = 5_000;
const pause_ms_min = 250;
const pause_ms_max = 10_000;
// Called as functions: a browser's timers want no other object before the point.
const page_clock = {
  now: () => Date.now(),
  set: (call, ms) => setTimeout(call, ms),
  clear: (timer) => clearTimeout(timer),
};
const terminal = new Set(['run.completed', 'run.failed', 'run.cancelled']);

export const is_terminal = (type) => terminal.has(type);

// Half of it is fixed, half is chance: clients that lost the same server do not return at once.
export function pause_ms(attempt, retry_ms, random = Math.random) {
  const grown = Math.min(pause_ms_max, Math.max(pause_ms_min, retry_ms) * 2 ** (attempt - 1));
  return Math.round(grown / 2 + (grown / 2) * random());
}

function retry_after_ms(response) {
  const seconds = Number(response.headers.get('retry-after'));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 60) * 1000 : 0;
}

async function problem_of(response) {
  const fallback = { status: response.status, code: '', detail: response.statusText };
  try {
    const problem = await response.json();
    return problem.code ? problem : fallback;
  } catch {
    return fallback;
  }
}

// Statuses that are worth another try: network faults, overload, a server that starts or stops.
const may_pass = (status) => status === 408 || status === 429 || status >= 500;

// Follows the events of a run until its end. Answers { close(), wake() }.
//   connect({ headers, signal, renew_token })  resolves to the Response. `headers` names the
//     cursor. `renew_token` is set after a 401: renew the access token first.
//   on_events(events)  parsed events in order, each `seq` once. After a failover to a standby
//     that lagged, one `run.resumed` may have a number at or below earlier ones. Drop the events
//     from that number on; numbers continue from it.
//   on_state({ phase, problem?, pause_ms? })  connecting, open, pausing, ended (all events have
//     been handed on), failed (no further try mends the problem).
//   is_live  false: `connect` asks only for stored events, and the answer's end is the end.
//   wake()  says that the network is back or the page is shown. It ends a pause, and a connection
//     that has been silent for too long.
export function follow_events({
  connect,
  on_events,
  on_state = (/** @type {any} */ _) => {},
  after_seq = 0,
  is_live = true,
  silence_ms = silence_ms_max,
  clock = page_clock,
}) {
  let last_seq = after_seq;
  let retry_ms = pause_ms_min;
  let is_closed = false;
  let connection = null;
  /** @type {(value?: unknown) => void} */
  let end_pause = () => {};
  let check_silence = () => {};
  const resumptions = new Map(); // seq -> created_at, of each run.resumed handed on

  // Whether the event goes to the reader; throws when one is missing before it.
  function is_next(event) {
    if (!Number.isSafeInteger(event.seq) || event.seq < 1) throw new Error('an event without seq');
    if (event.type === 'run.resumed') {
      const is_known = resumptions.get(event.seq) === event.created_at;
      resumptions.set(event.seq, event.created_at);
      if (event.seq <= last_seq && !is_known) {
        for (const seq of resumptions.keys()) if (seq > event.seq) resumptions.delete(seq);
        last_seq = event.seq - 1;
      }
    }
    if (event.seq <= last_seq) return false;
    if (event.seq > last_seq + 1) throw new Error(`event ${last_seq + 1} is missing`);
    last_seq = event.seq;
    return true;
  }

  // Reads to the end of the response; true when the run's last event was among what it read.
  async function read(response, controller) {
    let gathered = [];
    let is_over = false;
    const reader = sse_reader({
      on_retry: (ms) => (retry_ms = Math.min(ms, pause_ms_max)),
      on_event: ({ data }) => {
        const event = parse_json(data);
        if (is_over || !is_next(event)) return;
        gathered.push(event);
        is_over = is_terminal(event.type);
      },
    });
    const hand_on = () => {
      const events = gathered;
      gathered = [];
      if (events.length > 0 && !is_closed) on_events(events);
      return events.length > 0;
    };
    let newest_ms = clock.now();
    let timer;
    check_silence = () => {
      if (clock.now() - newest_ms > silence_ms) controller.abort(new Error('silence'));
    };
    const watch = () => {
      check_silence();
      timer = clock.set(watch, Math.min(check_ms, silence_ms));
    };
    watch();
    const decoder = new TextDecoder();
    const body = response.body.getReader();
    let has_come = false;
    try {
      for (;;) {
        const { done, value } = await body.read();
        if (done || is_closed) break;
        newest_ms = clock.now();
        try {
          reader.feed(decoder.decode(value, { stream: true }));
        } finally {
          has_come = hand_on() || has_come;
        }
        if (is_over) break;
      }
      return { is_over: is_over || !is_live, has_come };
    } catch (error) {
      return { is_over, has_come, error };
    } finally {
      clock.clear(timer);
      check_silence = () => {};
      controller.abort();
    }
  }

  function pause(ms) {
    return new Promise((resolve) => {
      const timer = clock.set(resolve, ms);
      end_pause = () => {
        clock.clear(timer);
        resolve();
      };
    });
  }

  // One request. Answers what to do next: stop, again, or again after at least so many ms.
  /** @param {boolean} renew_token */
  async function visit(renew_token) {
    const controller = new AbortController();
    connection = controller;
    // A request that nobody answers is no better than a silent stream.
    const timer = clock.set(() => controller.abort(new Error('silence')), silence_ms);
    let response;
    try {
      on_state({ phase: 'connecting' });
      const headers = last_seq > 0 ? { 'last-event-id': String(last_seq) } : {};
      response = await connect({ headers, signal: controller.signal, renew_token });
    } catch (error) {
      return { error };
    } finally {
      clock.clear(timer);
    }
    if (is_closed) return { is_over: true };
    if (response.status === 204) return { is_over: true };
    if (response.status !== 200) {
      const problem = await problem_of(response);
      if (response.status === 401 && !renew_token) return { renew_token: true };
      if (!may_pass(response.status)) return { problem };
      return { error: new Error(problem.detail), at_least_ms: retry_after_ms(response), problem };
    }
    on_state({ phase: 'open' });
    return read(response, controller);
  }

  async function follow() {
    let attempt = 0;
    let renew_token = false;
    while (!is_closed) {
      const outcome = await visit(renew_token);
      renew_token = outcome.renew_token === true;
      if (is_closed || renew_token) continue;
      if (outcome.is_over) return on_state({ phase: 'ended' });
      if (outcome.problem && outcome.error === undefined) {
        return on_state({ phase: 'failed', problem: outcome.problem });
      }
      attempt = outcome.has_come ? 1 : attempt + 1;
      const ms = Math.max(outcome.at_least_ms ?? 0, pause_ms(attempt, retry_ms));
      on_state({ phase: 'pausing', problem: outcome.problem, pause_ms: ms });
      await pause(ms);
    }
  }

  follow();
  return {
    close() {
      is_closed = true;
      connection?.abort();
      end_pause();
    },
    wake() {
      check_silence();
      end_pause();
    },
  };
}
