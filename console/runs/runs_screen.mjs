// All runs that the caller may see: `#/runs?status=…&model=…&since=…&sort=…`, see filters.mjs.
import { with_query } from '../api.mjs';
import { html, useEffect, useMemo, useRef, useState } from '../html.mjs';
import { duration, number, usd, useWords } from '../i18n.mjs';
import { address, go, set_query } from '../router.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { useChoices } from '../chat/composer.mjs';
import { watch_changes } from '../chat/service.mjs';
import { useFormOf } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import { asked_of, filter_names, filters_of, fits, is_past, sorted } from './filters.mjs';
import '../words/run_screens.mjs';
import { Status } from './status.mjs';
import { FirstWords, useTitles } from './titles.mjs';

const page_size = 50;
const poll_ms = 10_000;
const states = ['running', 'waiting_for_input', 'completed', 'failed', 'cancelled'];
const orders = ['', 'cost', 'duration'];
// So many rows are read for filters that few of them fit. Then the user asks for more.
const unasked_rows = 500;

// A name that the screen may cut, whole where it is pointed at.
const whole_name = (text) => html`<bdi title=${text}>${text}</bdi>`;

// Names of models and personas: of the rows, and of what the organization may use.
function choices_of(rows, { personas, models }) {
  const all = (names) => [...new Set(names.filter(Boolean))].sort();
  return {
    model: all([...rows.map((run) => run.model), ...models.map((one) => one.model)]),
    persona: all([...rows.map((run) => run.persona_id), ...personas.map(([name]) => name)]),
  };
}

const text_max = { end_user: 128, name: 64, value: 512 };

function Filters({ query, rows }) {
  const t = useWords();
  const filters = filters_of(query);
  const form = useFormOf(filters);
  const choices = choices_of(rows, useChoices());
  const typed = form.values;
  const text = (name) => html`<label class="field">${t(`runs.filter.${name}`)}
    <input dir="auto" maxlength=${text_max[name]} value=${typed[name]}
      onInput=${(event) => form.set(name, event.currentTarget.value)} /></label>`;
  const choose = (name, label, options) => html`<label class="field">${label}
    <select value=${filters[name]} onChange=${(event) =>
      set_query({ [name]: event.currentTarget.value })}>
      <option value="">${t('runs.any')}</option>
      ${[...new Map([...options, ...(filters[name] ? [[filters[name], undefined]] : [])])].map(
        ([value, shown]) =>
          html`<option key=${value} value=${value}>${shown ?? value}</option>`,
      )}</select></label>`;
  const day = (name, label) => html`<label class="field">${label}
    <input type="date" value=${filters[name]}
      onChange=${(event) => set_query({ [name]: event.currentTarget.value })} /></label>`;
  const apply = (event) => {
    event.preventDefault();
    const { end_user, name, value } = typed;
    set_query({ end_user, name, value: name ? value : '' });
  };
  const clear = () => {
    const none = Object.fromEntries(filter_names.map((name) => [name, '']));
    form.reset(none);
    set_query({ ...none, sort: '' });
  };
  const pairs = (values) => values.map((value) => [value, value]);
  return html`<form class="filters" role="search" aria-label=${t('runs.filters')} onSubmit=${apply}>
    ${choose(
      'status',
      t('runs.status'),
      states.map((status) => [status, t(`runs.status.${status}`)]),
    )}
    ${choose('model', t('runs.model'), pairs(choices.model))}
    ${choose('persona', t('runs.persona'), pairs(choices.persona))}
    ${day('since', t('runs.from'))} ${day('until', t('runs.to'))}
    ${text('end_user')} ${text('name')} ${text('value')}
    <label class="field">${t('runs.sort')} <select value=${query.sort ?? ''}
      onChange=${(event) => set_query({ sort: event.currentTarget.value })}>${orders.map(
        (order) => html`<option key=${order} value=${order}>
          ${t(`runs.sort.${order || 'newest'}`)}</option>`,
      )}</select></label>
    <button>${t('runs.apply')}</button>
    <button type="button" class="quiet" onClick=${clear}>${t('runs.clear')}</button>
  </form>`;
}

// The title of the run's thread, or the first words of its question; of another user's thread, the
// user.
function Title({ run, titles, me }) {
  const t = useWords();
  if (run.created_by_user_id !== me?.id) {
    return html`<span>${t('runs.of', { name: run.created_by_user_name })}</span>`;
  }
  const title = titles.get(run.thread_id);
  if (title === undefined) return html`<span class="dim">${run.run_id}</span>`;
  return title
    ? html`<bdi>${title}</bdi>`
    : html`<${FirstWords} run=${run} otherwise=${t('chat.untitled')} />`;
}

export function RunsScreen({ query }) {
  const t = useWords();
  const { me } = useStore(session);
  const filters = filters_of(query);
  const path = with_query('/v1/runs', { limit: page_size, ...asked_of(filters) });
  const read = usePages(path);
  const text = JSON.stringify([filters, query.sort]);
  /** @type {import('../types/calls').Schemas['RunListItem'][]} */
  const rows = useMemo(
    () => sorted(read.items.filter((run) => fits(run, filters)), query.sort),
    [read.items, text],
  );
  // Rows that may be read unasked.
  const [rows_max, set_rows_max] = useState(unasked_rows);
  useEffect(() => set_rows_max(unasked_rows), [text]);
  const is_paused = read.items.length >= rows_max;
  const more = () => {
    if (is_paused) set_rows_max(read.items.length + unasked_rows);
    read.more();
  };
  const pages = {
    ...read,
    is_paused,
    more,
    items: rows,
    has_more: read.has_more && !is_past(read.items, filters),
    rest: async (items_max) =>
      sorted((await read.rest(items_max)).filter((run) => fits(run, filters)), query.sort),
  };
  const titles = useTitles(rows, me);
  // The first page again, as long as it is all that is shown.
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const reload = () => {
      const { items, is_loading } = latest.current;
      if (!document.hidden && !is_loading && items.length <= page_size) latest.current.reload();
    };
    const timer = setInterval(reload, poll_ms);
    const ends = watch_changes(['threads', 'waits'], reload);
    return () => {
      clearInterval(timer);
      ends();
    };
  }, []);
  // Columns that are empty in every row are left out.
  const has = (test) => rows.some(test);
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('runs.thread'),
      is_title: true,
      is_wide: true,
      cell: (run) => html`<a href=${address(`/runs/${run.run_id}`)}
      title=${run.run_id}><${Title} run=${run} titles=${titles} me=${me} /></a>`,
    },
    {
      title: t('runs.started'),
      is_time: true,
      cell: (run) => html`<${When} at=${run.created_at} />`,
    },
    { title: t('runs.status'), cell: (run) => html`<${Status} status=${run.status} />` },
    { title: t('runs.model'), cell: (run) => html`<bdi>${run.model}</bdi>` },
    { title: t('runs.persona'), cell: (run) => html`<bdi>${run.persona_id ?? ''}</bdi>` },
    has((run) => run.created_by_user_id !== me?.id) && {
      title: t('runs.by'),
      cell: (run) => whole_name(run.created_by_user_name),
    },
    has((run) => run.end_user) && {
      title: t('runs.end_user'),
      cell: (run) => run.end_user && whole_name(run.end_user),
    },
    has((run) => Object.keys(run.metadata).length > 0) && {
      title: t('runs.metadata'),
      is_wide: true,
      cell: (run) =>
        Object.entries(run.metadata).map(
          ([key, mark]) => html`
      <span class="mark" key=${key} title=${`${key}=${mark}`}><bdi>${key}</bdi>=<bdi>${mark}</bdi>
      </span> `,
        ),
    },
    {
      title: t('runs.tokens'),
      is_number: true,
      cell: (run) => `${number(run.total_input_tokens)} + ${number(run.total_output_tokens)}`,
    },
    { title: t('runs.cost'), is_number: true, cell: (run) => usd(run.total_cost_usd) },
    { title: t('runs.duration'), is_number: true, cell: (run) => duration(run.duration_ms) },
  ];
  const is_filtered = filter_names.some((name) => filters[name]);
  const empty = is_filtered
    ? t('chat.nothing_found')
    : { text: t('runs.none'), action: t('chat.new_thread'), on_action: () => go('/threads/new') };
  return html`<div class="runs-screen"><h1>${t('runs.runs')}</h1>
    <${Filters} query=${query} rows=${read.items} />
    <${Table} pages=${pages} columns=${columns} label=${t('runs.runs')} empty=${empty}
      key_of=${(run) => run.run_id} />
    ${
      is_paused &&
      pages.has_more &&
      rows.length === 0 &&
      html`<p class="dim">${t('runs.nothing_yet', { count: read.items.length })}</p>`
    }
  </div>`;
}
