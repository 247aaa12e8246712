// How what a run waits for is answered: one call at a time, locked until the run goes on. Used by
// the cards of each kind (wait_card, elicitation, connect).
import { api } from '../api.mjs';
import { useRef, useState } from '../html.mjs';

export const input_bytes_max = 32_768;
export const is_too_long = (text) => new TextEncoder().encode(text).length > input_bytes_max;

// Sends one answer at a time; `problem` is of the last. What was sent stays locked until the run
// goes on.
export function useAnswer(call) {
  const [state, set_state] = useState({ is_sending: false, is_sent: false, problem: null });
  // Two clicks may come before the lock is drawn.
  const is_out = useRef(false);
  const send = async (...given) => {
    if (is_out.current) return;
    is_out.current = true;
    set_state({ is_sending: true, is_sent: false, problem: null });
    try {
      await call(...given);
      set_state({ is_sending: false, is_sent: true, problem: null });
    } catch (problem) {
      set_state({ is_sending: false, is_sent: false, problem });
    }
    is_out.current = false;
  };
  return { ...state, is_locked: state.is_sending || state.is_sent, send };
}

// To what was shown alone: a second click must not answer what the run asks next.
export const answer_run = (run_id, { request_id }, content) =>
  api.post(`/v1/runs/${run_id}/input`, { content, request_id });

// Ctrl-Enter sends from a field of several lines.
export const on_ctrl_enter = (send) => (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  event.preventDefault();
  send();
};
