// The messages that a run answers, read from its thread.
import { api } from '../api.mjs';

const read = new Map(); // run_id -> promise

const page_max = 20;
// The first id of a version 7 UUID after this moment.
function id_after(moment) {
  const hex = (Date.parse(moment) + 1).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

// Text of the user's messages since the answer before this run. Only the creator of a thread may
// read it.
export function question_of(run) {
  const { run_id, thread_id, created_at } = run;
  if (!read.has(run_id)) {
    const query = { before: id_after(created_at), limit: page_max };
    const asked = api.get(`/v1/threads/${thread_id}/messages`, { query }).then(({ body }) => {
      const since = body.findLastIndex(({ role }) => role !== 'user') + 1;
      return body
        .slice(since)
        .map(({ content }) => content)
        .join('\n\n');
    });
    asked.catch(() => read.delete(run_id));
    read.set(run_id, asked);
  }
  return read.get(run_id);
}
