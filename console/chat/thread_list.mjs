// The list of the caller's threads beside the chat: newest first, found by words, page by page;
// with `?end_user=` in the address those of one end user.
import { get_ahead } from '../ahead.mjs';
import { api, with_query } from '../api.mjs';
import { html, useLayoutEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go, set_query } from '../router.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Empty } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import { watch_changes } from './service.mjs';

const pause_ms = 250;
const poll_ms = 30_000;

// A title that shows nothing counts as no title.
const seen = /[^\s\p{Cf}\u115f\u1160\u2800\u3164\uffa0]/u;
export const title_of = ({ title }, t) =>
  title && seen.test(title) ? title : t('chat.untitled');

export const threads_path = (search, end_user) =>
  search.trim() === ''
    ? with_query('/v1/threads', { limit: 50, end_user })
    : with_query('/v1/threads/search', { limit: 50, q: search.trim() });

// The results of the search; `more` reads the next page. The service searches all threads: those of
// other end users are left out here.
function useThreads(search, end_user) {
  const [state, set_state] = useState({
    threads: /** @type {import('../types/calls').Schemas['Thread'][] | null} */ (null),
    next: null,
    problem: null,
    is_loading: true,
  });
  const newest = useRef(0);
  const of_user = (threads) => threads.filter((one) => !end_user || one.end_user === end_user);
  const load = async (path, threads) => {
    const call = ++newest.current;
    set_state((old) => ({ ...old, is_loading: true }));
    try {
      const { body: data, next } = await get_ahead(
        /** @type {ReturnType<typeof threads_path>} */ (path),
      );
      if (call !== newest.current) return;
      const seen = new Set(threads.map(({ id }) => id));
      const fresh = of_user(data).filter(({ id }) => !seen.has(id));
      set_state({ threads: [...threads, ...fresh], next, problem: null, is_loading: false });
    } catch (problem) {
      if (call === newest.current) set_state((old) => ({ ...old, problem, is_loading: false }));
    }
  };
  // The first page again; the rows of further pages stay after it.
  const refresh = async () => {
    if (document.hidden) return;
    const call = ++newest.current;
    try {
      const { body: data, next } = await api.get(threads_path(search, end_user));
      if (call !== newest.current) return;
      set_state((old) => {
        const last = data.at(-1)?.id ?? '';
        const behind = (old.threads ?? []).filter(({ id }) => next !== null && id < last);
        return {
          threads: [...of_user(data), ...behind],
          next: behind.length > 0 ? old.next : next,
          problem: null,
          is_loading: false,
        };
      });
    } catch (problem) {
      // The list that is shown stays.
      if (call !== newest.current) return;
      const kept = (old) => (old.threads ? old.problem : problem);
      set_state((old) => ({ ...old, problem: kept(old), is_loading: false }));
    }
  };
  // Not behind the first picture: what was asked for ahead is often here by then.
  useLayoutEffect(() => {
    const begin = () => load(threads_path(search, end_user), []);
    const timer = search === '' ? void begin() : setTimeout(begin, pause_ms);
    const ends = watch_changes(['threads'], refresh);
    const poll = setInterval(refresh, poll_ms);
    return () => {
      clearTimeout(timer);
      clearInterval(poll);
      ends();
    };
  }, [search, end_user]);
  return {
    ...state,
    more: () => load(state.next, state.threads),
    again: () => load(threads_path(search, end_user), []),
  };
}

// Whose threads are listed. It is looked for as it was typed: no part of an end user is one.
function EndUser({ end_user }) {
  const t = useWords();
  const [is_open, set_open] = useState(false);
  const apply = (event) => {
    event.preventDefault();
    set_open(false);
    set_query({ end_user: new FormData(event.currentTarget).get('end_user') });
  };
  if (end_user && !is_open) {
    return html`<p class="row of-end-user"><span class="dim">${t('chat.end_user')}</span>
      <button type="button" class="mark"
        onClick=${() => set_open(true)}><bdi>${end_user}</bdi></button>
      <button type="button" class="small quiet" aria-label=${t('chat.all_end_users')}
        onClick=${() => set_query({ end_user: '' })}>×</button></p>`;
  }
  return html`<details class="further" open=${is_open}><summary>${t('chat.of_end_user')}</summary>
    <form class="row" role="search" aria-label=${t('chat.of_end_user')} onSubmit=${apply}>
      <input name="end_user" aria-label=${t('chat.end_user')} dir="auto" maxlength="128"
        defaultValue=${end_user} />
      <button>${t('runs.apply')}</button></form></details>`;
}

export function ThreadList({ current_id, end_user = '' }) {
  const t = useWords();
  const [search, set_search] = useState('');
  const { threads, next, problem, is_loading, more, again } = useThreads(search, end_user);
  return html`<div role="navigation" class="threads" aria-label=${t('chat.threads')}
    aria-busy=${is_loading}>
    <div class="row">
      <input type="search" aria-label=${t('chat.search')} placeholder=${t('chat.search')} dir="auto"
        maxlength="500"
        value=${search} onInput=${(event) => set_search(event.currentTarget.value)} />
      <a class="button" href=${address('/threads/new')}>${t('chat.new_thread')}</a>
    </div>
    <${EndUser} end_user=${end_user} />
    <${ErrorBox} error=${problem} on_retry=${threads ? undefined : again} />
    ${
      threads?.length === 0 &&
      !is_loading &&
      !next &&
      (search === '' && end_user === ''
        ? html`<${Empty} text=${t('chat.no_threads')} action=${t('chat.begin')}
        on_action=${() => go('/threads/new')} />`
        : html`<p class="empty">${t('chat.nothing_found')}</p>`)
    }
    <ul>${threads?.map(
      ({ id, title, end_user: whose, active_run_id, updated_at }) => html`<li key=${id}>
      <a href=${address(`/threads/${id}`, { end_user })}
        aria-current=${id === current_id ? 'page' : undefined}>
        <bdi class="title">${title_of({ title }, t)}</bdi>
        <span class="about">
          ${
            active_run_id &&
            html`<span class="dot" title=${t('chat.active')} role="img"
            aria-label=${t('chat.active')} />`
          }
          ${whose && html`<bdi class="mark">${whose}</bdi>`} <${When} at=${updated_at} />
        </span>
      </a>
    </li>`,
    )}</ul>
    ${is_loading && html`<p class="note" role="status">${t('loading')}</p>`}
    ${next && !is_loading && html`<button type="button" onClick=${more}>${t('list.more')}</button>`}
  </div>`;
}
