// All runs that the caller may see: `#/runs?status=…&end_user=…&name=…&value=…`.
import { with_query } from '../api.mjs';
import { html, useEffect, useRef } from '../html.mjs';
import { duration, number, usd, useWords } from '../i18n.mjs';
import { address, go, set_query } from '../router.mjs';
import { watch_changes } from '../chat/service.mjs';
import { useFormOf } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import { Status } from './status.mjs';

const page_size = 50;
const poll_ms = 10_000;
const states = ['running', 'waiting_for_input', 'completed', 'failed', 'cancelled'];

// A name that the screen may cut, whole where it is pointed at.
const whole_name = (text) => html`<bdi title=${text}>${text}</bdi>`;

function Filters({ query }) {
  const t = useWords();
  const { end_user = '', name: mark = '', value = '' } = query;
  const form = useFormOf({ end_user, name: mark, value });
  const typed = form.values;
  const field = (name) => html`<label class="field">${t(`runs.filter.${name}`)}
    <input dir="auto" maxlength=${name === 'value' ? 512 : name === 'name' ? 64 : 128}
      value=${typed[name]}
      onInput=${(event) => form.set(name, event.currentTarget.value)} /></label>`;
  const apply = (event) => {
    event.preventDefault();
    set_query({ ...typed, value: typed.name ? typed.value : '' });
  };
  const clear = () => {
    form.reset({ end_user: '', name: '', value: '' });
    set_query({ status: '', end_user: '', name: '', value: '' });
  };
  return html`<form class="filters" role="search" aria-label=${t('runs.filters')} onSubmit=${apply}>
    <label class="field">${t('runs.status')} <select value=${query.status ?? ''}
      onChange=${(event) => set_query({ status: event.currentTarget.value })}>
      <option value="">${t('runs.any')}</option>
      ${states.map(
        (status) => html`<option key=${status}
        value=${status}>${t(`runs.status.${status}`)}</option>`,
      )}
    </select></label>
    ${field('end_user')} ${field('name')} ${field('value')}
    <button>${t('runs.apply')}</button>
    <button type="button" class="quiet" onClick=${clear}>${t('runs.clear')}</button>
  </form>`;
}

export function RunsScreen({ query }) {
  const t = useWords();
  const { status = '', end_user = '', name = '', value = '' } = query;
  const members = { limit: page_size, status, end_user };
  const path = with_query(
    with_query('/v1/runs', members),
    name ? { [`metadata[${name}]`]: value } : {},
  );
  const pages = usePages(path);
  // The first page again, as long as it is all that is shown.
  const latest = useRef(pages);
  latest.current = pages;
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
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('runs.run'),
      is_title: true,
      is_time: true,
      cell: (run) => html`<a href=${address(`/runs/${run.run_id}`)}
      title=${run.run_id}><${When} at=${run.created_at} /></a>`,
    },
    { title: t('runs.status'), cell: (run) => html`<${Status} status=${run.status} />` },
    { title: t('runs.model'), cell: (run) => html`<bdi>${run.model}</bdi>` },
    { title: t('runs.persona'), cell: (run) => html`<bdi>${run.persona_id ?? ''}</bdi>` },
    { title: t('runs.by'), cell: (run) => whole_name(run.created_by_user_name) },
    { title: t('runs.end_user'), cell: (run) => run.end_user && whole_name(run.end_user) },
    {
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
  const is_filtered = status || end_user || name;
  const empty = is_filtered
    ? t('chat.nothing_found')
    : { text: t('runs.none'), action: t('chat.new_thread'), on_action: () => go('/threads/new') };
  return html`<div class="runs-screen"><h1>${t('runs.runs')}</h1>
    <${Filters} query=${query} />
    <${Table} pages=${pages} columns=${columns} label=${t('runs.runs')} empty=${empty}
      key_of=${(run) => run.run_id} />
  </div>`;
}
