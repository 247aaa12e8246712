// One run as a screen looks at it: its row, and its story as long as it grows.
import { all_pages, api, with_query } from '../api.mjs';
import { useEffect, useRef, useState } from '../html.mjs';
import { follow_events } from '../chat/stream.mjs';
import { advance, empty_story } from '../chat/story.mjs';
import { run_events } from '../chat/service.mjs';

const poll_ms = 5000;

// The story of the run, followed while the screen is open; drawn at most once a frame.
export function useRunStory(run_id) {
  const [state, set_state] = useState({ story: empty_story, stream: null });
  useEffect(() => {
    let story = empty_story;
    let stream = null;
    let frame = 0;
    const draw = () => {
      frame = 0;
      set_state({ story, stream });
    };
    const plan = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const subscription = follow_events({
      connect: (call) => run_events(run_id, call),
      on_events: (events) => {
        story = advance(story, events);
        plan();
      },
      on_state: (next) => {
        stream = next;
        plan();
      },
    });
    const wake = () => document.hidden || subscription.wake();
    document.addEventListener('visibilitychange', wake);
    addEventListener('online', wake);
    return () => {
      document.removeEventListener('visibilitychange', wake);
      removeEventListener('online', wake);
      cancelAnimationFrame(frame);
      subscription.close();
    };
  }, [run_id]);
  return state;
}

// GET /v1/runs/{run_id}: again while the run goes on, and when its story says that something
// happened: another status, or a turn more, which was paid for.
export function useRun(run_id, { status, turns }) {
  const [state, set_state] = useState({
    run: /** @type {import('../types/calls').Schemas['Run'] | null} */ (null),
    error: null,
  });
  const newest = useRef(0);
  const load = async () => {
    const call = ++newest.current;
    try {
      const { body } = await api.get(`/v1/runs/${run_id}`);
      if (call === newest.current) set_state({ run: body, error: null });
    } catch (error) {
      if (call === newest.current) set_state((old) => ({ ...old, error }));
    }
  };
  useEffect(() => {
    load();
    const goes_on = ['queued', 'running', 'waiting'].includes(status);
    const timer = setInterval(() => goes_on && !document.hidden && load(), poll_ms);
    return () => {
      clearInterval(timer);
      newest.current += 1;
    };
  }, [run_id, status, turns]);
  return { ...state, reload: load };
}

// Tokens and cost of each turn, by its number: read again whenever the run's sums have changed.
/** @param {import('../types/calls').Schemas['Run'] | null} run */
export function useTurns(run) {
  const [turns, set_turns] = useState(
    /** @type {Map<number, import('../types/calls').Schemas['RunTurn']>} */ (new Map()),
  );
  const run_id = run?.run_id;
  const sums = run && [run.status, run.total_input_tokens, run.total_output_tokens].join(' ');
  useEffect(() => {
    if (!run_id) return undefined;
    let is_gone = false;
    all_pages(with_query(`/v1/runs/${run_id}/turns`, { limit: 200 })).then(
      (rows) => is_gone || set_turns(new Map(rows.map((row) => [row.turn, row]))),
      // The timeline stands without them.
      () => {},
    );
    return () => {
      is_gone = true;
    };
  }, [run_id, sums]);
  return turns;
}
