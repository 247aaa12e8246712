// Lists that are read page by page, each page at the address that the one before names in its
// `Link`.
import { api } from '../api.mjs';
import { is_abort } from '../error.mjs';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { place } from '../router.mjs';
import { CsvButton } from './csv_button.mjs';
import { ErrorBox } from './error.mjs';

/** @typedef {import('../types/calls').Next<any>} Next */
const nothing = { items: [], next: null, error: null, is_loading: true, is_renewing: false };

// Pages of `path` (null: none yet). `pick(body)` gives the items of a page. Gives {items, error,
// is_loading, is_renewing (loading, but what is shown stays until then), has_more, more(),
// reload(), change(items => items)}; `first` is the body of the first page. Reading begins again
// when `path` changes.
/** @type {import('../types/calls').UsePages} */
export function usePages(path, ...rest) {
  const { pick = (body) => /** @type {any} */ (body) } = rest[0] ?? {};
  const [state, set_state] = useState(nothing);
  const reading = useRef(null);
  const newest = useRef(null); // what was read last, or failed: {from, before}

  const read = async (from, before) => {
    reading.current?.abort();
    const mine = new AbortController();
    reading.current = mine;
    newest.current = { from, before };
    set_state((old) => ({
      ...old,
      error: null,
      is_loading: true,
      is_renewing: !before && old.items.length > 0,
    }));
    try {
      const page = await api.get(/** @type {Next} */ (from), { signal: mine.signal });
      set_state((old) => ({
        items: before ? [...old.items, ...pick(page.body)] : pick(page.body),
        first: before ? old.first : page.body,
        next: page.next,
        error: null,
        is_loading: false,
        is_renewing: false,
      }));
    } catch (error) {
      if (is_abort(error)) return;
      set_state((old) => ({ ...old, error, is_loading: false, is_renewing: false }));
    }
  };

  useEffect(() => {
    set_state(nothing);
    if (path) read(path, false);
    return () => reading.current?.abort();
  }, [path]);

  return {
    items: state.items,
    first: state.first,
    error: state.error,
    is_loading: state.is_loading,
    is_renewing: state.is_renewing,
    has_more: Boolean(state.next),
    more: () => state.next && !state.is_loading && read(state.next, true),
    reload: () => path && read(path, false),
    again: () => newest.current && read(newest.current.from, newest.current.before),
    // Items of this and all further pages, at most about so many. The list on the screen stays.
    rest: async (items_max) => {
      const items = [...state.items];
      for (let { next } = state; next && items.length < items_max; ) {
        const page = await api.get(/** @type {Next} */ (next));
        items.push(...pick(page.body));
        next = page.next;
      }
      return items;
    },
    change: (make) => set_state((old) => ({ ...old, items: make(old.items) })),
  };
}

// The button in the head of a screen that adds to its list. A list that has nothing offers it below
// its sentence instead.
export const Adder = ({ pages, on_click, children }) =>
  pages.items.length > 0 &&
  html`<button type="button" class="main" onClick=${on_click}>${children}</button>`;

// The sentence of a list that has nothing, and the button that begins it.
export function Empty({ text, action, on_action }) {
  return html`<div class="empty"><p>${text}</p>
    <button type="button" class="main" onClick=${on_action}>${action}</button></div>`;
}

// Where the rows will stand.
const Skeleton = () =>
  html`<div class="skeleton" aria-hidden="true"><i /><i /><i /><i /></div>`;

// Under a list: its state, its error, and a button for the next page, which is also read when it
// comes into sight, unless the list `is_paused`. A list that is only renewed shows no state.
// `empty`: a text, or {text, action, on_action}.
export function PageEnd({ pages, empty }) {
  const t = useWords();
  const button = useRef(null);
  const latest = useRef(pages);
  latest.current = pages;
  useEffect(() => {
    if (!button.current || pages.is_paused) return undefined;
    const watcher = new IntersectionObserver(
      (seen) => {
        if (seen.some((entry) => entry.isIntersecting)) latest.current.more();
      },
      { rootMargin: '300px' },
    );
    watcher.observe(button.current);
    return () => watcher.disconnect();
  }, [pages.has_more, pages.items.length, pages.is_loading, pages.is_paused]);
  if (pages.error) return html`<${ErrorBox} error=${pages.error} on_retry=${pages.again} />`;
  const is_awaited = pages.is_loading && !pages.is_renewing;
  return html`<div class="page-end" aria-live="polite">
    ${is_awaited && html`<p class="dim working">${t('loading')}</p>`}
    ${is_awaited && pages.items.length === 0 && html`<${Skeleton} />`}
    ${
      !is_awaited &&
      !pages.items.length &&
      !pages.has_more &&
      (typeof empty === 'object'
        ? html`<${Empty} ...${empty} />`
        : html`<p class="empty">${empty ?? t('list.empty')}</p>`)
    }
    ${
      !is_awaited &&
      pages.has_more &&
      html`<button type="button" ref=${button}
      onClick=${pages.more}>${t('list.more')}</button>`
    }
  </div>`;
}

// A table of pages. `columns`: [{title, cell(item), is_number?, is_wide?, is_title?, is_time?}]; on
// narrow screens each row becomes a card whose cells carry their titles. `key_of(item)` is its key,
// `id` unless given.
export function Table({ pages, columns, label, empty, key_of = (item) => item.id }) {
  const shown = useMemo(() => columns.filter(Boolean), [columns]);
  const box = useRef(null);
  const has_focus = box.current?.contains(document.activeElement);
  // The row that the address names, where the search led to it. Pages are read until it is there.
  const { row } = place.get()?.query ?? {};
  const class_of = (item) => (row && key_of(item) === row ? 'sought' : undefined);
  const has_sought = Boolean(row) && pages.items.some((item) => key_of(item) === row);
  useEffect(() => {
    if (has_sought) box.current?.querySelector('.sought')?.scrollIntoView({ block: 'nearest' });
    else if (row && pages.has_more && !pages.is_loading) pages.more();
  }, [row, has_sought, pages.items.length]);
  useLayoutEffect(() => {
    // The row that had it is gone.
    if (has_focus && document.activeElement === document.body) {
      (box.current ?? document.getElementById('main')).focus({ preventScroll: true });
    }
  });
  return html`${
    pages.items.length > 0 &&
    html`<div class="table" role="region" aria-label=${label} ref=${box}
      tabindex="0"><table>
      <thead><tr>${shown.map(
        (column) => html`<th scope="col" class=${column.is_number ? 'number' : ''}>
        ${column.title}</th>`,
      )}</tr></thead>
      <tbody>${pages.items.map(
        (item) =>
          html`<tr key=${key_of(item)} class=${class_of(item)}>${shown.map(
            (column) => html`
        <td data-title=${column.title} class=${[
          column.is_number && 'number',
          column.is_wide && 'wide',
          column.is_title && 'title',
          column.is_time && 'time',
        ]
          .filter(Boolean)
          .join(' ')}>${column.cell(item)}</td>`,
          )}</tr>`,
      )}</tbody>
    </table></div>
    <${CsvButton} name=${label} make=${(part) => part.csv_of(pages, shown)} />`
  }
    <${PageEnd} pages=${pages} empty=${empty} />`;
}

// For what is no list: {body, error, is_loading, reload(), set(body)} of one GET (null: none yet)
// with the options of `api`.
/** @type {import('../types/calls').UseCall} */
export function useCall(path, ...rest) {
  const [options = {}] = rest;
  const [state, set_state] = useState({ body: null, error: null, is_loading: true });
  const reading = useRef(null);
  const read = async () => {
    reading.current?.abort();
    const mine = new AbortController();
    reading.current = mine;
    set_state((old) => ({ ...old, error: null, is_loading: true }));
    try {
      const { get } = /** @type {any} */ (api);
      const { body } = await get(path, { ...options, signal: mine.signal });
      set_state({ body, error: null, is_loading: false });
    } catch (error) {
      if (!is_abort(error)) set_state((old) => ({ ...old, error, is_loading: false }));
    }
  };
  useEffect(() => {
    set_state({ body: null, error: null, is_loading: Boolean(path) });
    if (path) read();
    return () => reading.current?.abort();
  }, [path]);
  const set = (body) => {
    // An answer that comes meanwhile is older.
    reading.current?.abort();
    set_state({ body, error: null, is_loading: false });
  };
  return { ...state, reload: read, set };
}
