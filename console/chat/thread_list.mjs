// The list of the caller's threads beside the chat: newest first, found by words, page by page.
import { api } from '../api.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { ago, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { watch_changes } from './service.mjs';

const pause_ms = 250;
const poll_ms = 30_000;

const path_of = (search) =>
  search.trim() === ''
    ? '/v1/threads?limit=50'
    : `/v1/threads/search?limit=50&q=${encodeURIComponent(search.trim())}`;

// What the search finds now; `more` reads the next page.
function useThreads(search) {
  const [state, set_state] = useState({
    threads: null,
    next: null,
    problem: null,
    is_loading: true,
  });
  const newest = useRef(0);
  const load = async (path, threads) => {
    const call = ++newest.current;
    set_state((old) => ({ ...old, is_loading: true }));
    try {
      const { body: data, next } = await api.get(path);
      if (call !== newest.current) return;
      const seen = new Set(threads.map(({ id }) => id));
      const fresh = data.filter(({ id }) => !seen.has(id));
      set_state({ threads: [...threads, ...fresh], next, problem: null, is_loading: false });
    } catch (problem) {
      if (call === newest.current) set_state((old) => ({ ...old, problem, is_loading: false }));
    }
  };
  // The first page again; what further pages brought stays behind it.
  const refresh = async () => {
    if (document.hidden) return;
    const call = ++newest.current;
    try {
      const { body: data, next } = await api.get(path_of(search));
      if (call !== newest.current) return;
      set_state((old) => {
        const last = data.at(-1)?.id ?? '';
        const behind = (old.threads ?? []).filter(({ id }) => next !== null && id < last);
        return {
          threads: [...data, ...behind],
          next: behind.length > 0 ? old.next : next,
          problem: null,
          is_loading: false,
        };
      });
    } catch {
      // The list that is shown stays.
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => load(path_of(search), []), search === '' ? 0 : pause_ms);
    const ends = watch_changes(['threads'], refresh);
    const poll = setInterval(refresh, poll_ms);
    return () => {
      clearTimeout(timer);
      clearInterval(poll);
      ends();
    };
  }, [search]);
  return { ...state, more: () => load(state.next, state.threads) };
}

export function ThreadList({ current_id }) {
  const t = useWords();
  const [search, set_search] = useState('');
  const { threads, next, problem, is_loading, more } = useThreads(search);
  return html`<div role="navigation" class="threads" aria-label=${t('chat.threads')}
    aria-busy=${is_loading}>
    <div class="row">
      <input type="search" aria-label=${t('chat.search')} placeholder=${t('chat.search')} dir="auto"
        maxlength="500"
        value=${search} onInput=${(event) => set_search(event.currentTarget.value)} />
      <a class="button" href=${address('/threads/new')}>${t('chat.new_thread')}</a>
    </div>
    <${ErrorBox} error=${problem} />
    ${
      threads?.length === 0 &&
      !is_loading &&
      html`<p class="empty">
      ${t(search === '' ? 'chat.no_threads' : 'chat.nothing_found')}</p>`
    }
    <ul>${threads?.map(
      ({ id, title, end_user, active_run_id, updated_at }) => html`<li key=${id}>
      <a href=${address(`/threads/${id}`)} aria-current=${id === current_id ? 'page' : undefined}>
        <bdi class="title">${title || t('chat.untitled')}</bdi>
        <span class="about">
          ${
            active_run_id &&
            html`<span class="dot" title=${t('chat.active')} role="img"
            aria-label=${t('chat.active')} />`
          }
          ${end_user && html`<bdi class="mark">${end_user}</bdi>`} <time
            datetime=${updated_at}>${ago(updated_at)}</time>
        </span>
      </a>
    </li>`,
    )}</ul>
    ${is_loading && html`<p class="note" role="status">${t('loading')}</p>`}
    ${next && !is_loading && html`<button type="button" onClick=${more}>${t('list.more')}</button>`}
  </div>`;
}
