// Titles of the threads of runs in a list: only the creator of a thread may read it.
import { api, with_query } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useNear } from '../chat/near.mjs';
import { question_of } from './question.mjs';

const pages_max = 5;

// [id, title] of the caller's threads, from the newest to the oldest of `ids`.
/** @param {string[]} ids @returns {Promise<[string, string][]>} */
async function read_titles(ids) {
  const oldest = [...ids].sort()[0];
  /** @type {[string, string][]} */
  const titles = [];
  /** @type {any} */
  let next = with_query('/v1/threads', { limit: 200 });
  const { get } = /** @type {any} */ (api);
  for (let page = 0; next && page < pages_max; ++page) {
    const answer = await get(next);
    titles.push(...answer.body.map(({ id, title }) => [id, title ?? '']));
    if (answer.body.length === 0 || answer.body.at(-1).id <= oldest) break;
    next = answer.next;
  }
  return titles;
}

// The titles of the user's own threads among those of `runs`, by id: a Map that fills. A thread
// that has no title, or is gone, is ''.
export function useTitles(runs, me) {
  const [titles, set_titles] = useState(/** @type {Map<string, string>} */ (new Map()));
  const mine = runs.filter((run) => run.created_by_user_id === me?.id);
  const wanted = [...new Set(mine.map((run) => run.thread_id))].filter((id) => !titles.has(id));
  useEffect(() => {
    if (wanted.length === 0) return undefined;
    let is_gone = false;
    /** @type {[string, string][]} */
    const none = wanted.map((id) => [id, '']);
    read_titles(wanted).then(
      (found) => is_gone || set_titles(new Map([...titles, ...none, ...found])),
      () => is_gone || set_titles(new Map([...titles, ...none])),
    );
    return () => {
      is_gone = true;
    };
  }, [wanted.join()]);
  return titles;
}

const words_max = 60;

// The first words of a run's question, read when its row comes into sight.
export function FirstWords({ run, otherwise }) {
  const [box, text] = useNear(() => question_of(run).catch(() => ''));
  const line = text?.replace(/\s+/g, ' ').trim();
  return html`<bdi ref=${box}>${line ? line.slice(0, words_max) : otherwise}</bdi>`;
}
