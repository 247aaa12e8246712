// Calls of chat, runs and inbox, and how the console's pages tell each other that something
// changed. Used by their screens.
import { api } from '../api.mjs';
import { ApiError } from '../error.mjs';

// The Response of a run's events for stream.mjs: an error is an answer there, too. `is_live`
// false: what is there.
export async function run_events(run_id, { headers, signal, after_seq, is_live = true }) {
  const query = { follow: is_live ? undefined : false, after_seq };
  try {
    return await api.open(`/v1/runs/${run_id}/events`, {
      query,
      signal,
      headers: { Accept: 'text/event-stream', ...headers },
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    const fields = new Headers(
      error.retry_after === null ? {} : { 'retry-after': String(error.retry_after) },
    );
    return {
      status: error.status,
      headers: fields,
      statusText: error.title,
      json: async () => error,
    };
  }
}

// ---------------------------------------------------------------- changes

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('hostler.changes') : null;
const watchers = new Set();
const report = (topics) => watchers.forEach((watcher) => watcher(topics));
channel?.addEventListener('message', ({ data }) => Array.isArray(data) && report(data));

// Topics: 'threads', 'waits', 'thread ID', 'choices' (of personas and models), 'account' (its
// address was proved). Other tabs ask the service again. They get names, no content.
export function changed(...topics) {
  channel?.postMessage(topics);
  report(topics);
}

// Calls back when one of the topics changed, here or in another tab; gives the function that ends
// it.
export function watch_changes(topics, on_change) {
  const watcher = (changes) => changes.some((topic) => topics.includes(topic)) && on_change();
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
