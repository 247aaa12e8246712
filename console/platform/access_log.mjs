// The access log as it comes, with filters, and what the rows in sight look like over time.
import { api, with_query } from '../api.mjs';
import { is_abort } from '../error.mjs';
import { html, useEffect, useMemo, useRef, useState } from '../html.mjs';
import { duration, score, useWords } from '../i18n.mjs';
import { address, set_query } from '../router.mjs';
import { Copy } from '../ui/copy.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Field, Form, Submit, useFormOf } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { Exact } from '../ui/when.mjs';
import { Plot } from '../screens/usage.mjs';
import '../words/platform_people.mjs';
import '../words/platform_system.mjs';
import { signals, signals_of } from './risk.mjs';

const again_ms = 3000;
const rows_max = 1000;
const filter_names = ['method', 'path', 'ip', 'country', 'risk_min', 'ua_type'];
const agents = ['', 'browser', 'tool', 'bot', 'unknown'];
const plots = ['requests', 'median', 'slowest'];
const methods = ['', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function Filters({ filters }) {
  const t = useWords();
  const form = useFormOf(filters);
  const choice = (values) => values.map((value) => [value, value || t('users.any')]);
  return html`<${Form} form=${form} label=${t('runs.filters')}
    on_submit=${(values) => set_query(values)}><div class="filters">
      <${Field} form=${form} name="method" label=${t('log.method')} options=${choice(methods)} />
      <${Field} form=${form} name="path" label=${t('log.path')} placeholder="/v1/" maxlength="2000"
        autocomplete="off" />
      <${Field} form=${form} name="ip" label=${t('users.address')} autocomplete="off" />
      <${Field} form=${form} name="country" label=${t('log.country')} maxlength="2" size="4"
        autocomplete="off" />
      <${Field} form=${form} name="risk_min" label=${t('log.risk_min')} inputmode="decimal"
        size="5" autocomplete="off" />
      <${Field} form=${form} name="ua_type" label=${t('log.agent')} options=${choice(agents)} />
      <${Submit} form=${form} kind="">${t('log.filter')}<//></div><//>`;
}

// Puts rows that came since in front, as long as `is_live`. `since`: the last that was looked at,
// which may be younger than the last that the filters pass.
function useNewRows(pages, filters, is_live) {
  const [error, set_error] = useState(null);
  const latest = useRef(pages);
  latest.current = pages;
  const text = JSON.stringify(filters);
  useEffect(() => {
    if (!is_live) return undefined;
    const stop = new AbortController();
    let is_asking = false;
    let since = '';
    const look = async () => {
      const { items, is_loading, change } = latest.current;
      if (document.hidden || is_asking || is_loading) return;
      is_asking = true;
      since ||= items[0]?.id ?? '';
      try {
        const query = { ...filters, since, limit: 100 };
        const { body } = await api.get(with_query('/v1/admin/access-log', query), {
          signal: stop.signal,
        });
        // Where nothing is shown yet there is no row to ask behind: the newest come first then.
        const rows = since ? body.data.reverse() : body.data;
        since = body.next_since ?? rows[0]?.id ?? '';
        if (rows.length > 0) change((old) => [...rows, ...old].slice(0, rows_max));
        set_error(null);
      } catch (thrown) {
        if (!is_abort(thrown)) set_error(thrown);
      }
      is_asking = false;
    };
    const timer = setInterval(look, again_ms);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [text, is_live]);
  return error;
}

const look = { well: 'good', refused: 'warn', failed: 'bad' };

function columns_of(t) {
  return [
    {
      title: t('credits.when'),
      is_title: true,
      is_time: true,
      cell: (row) => html`<${Exact} at=${row.timestamp} />`,
    },
    { title: t('log.method'), cell: (row) => row.method },
    { title: t('log.where'), is_wide: true, cell: (row) => html`<bdi>${row.path}</bdi>` },
    {
      title: t('users.status'),
      cell: (row) => html`<span class=${`mark ${
        look[kind_of(row.status_code)]
      }`}>${row.status_code}</span>`,
    },
    { title: t('log.took'), is_number: true, cell: (row) => duration(row.duration_ms) },
    {
      title: t('log.who'),
      is_wide: true,
      cell: (row) =>
        row.user_id
          ? html`<a href=${`#/platform/users/${row.user_id}`}><bdi>${row.username}</bdi></a>`
          : t(`log.identity.${row.identity_type}`),
    },
    {
      title: t('users.address'),
      cell: (row) => html`<a href=${address('/platform/access-log', { ip: row.client_ip })}>
        <bdi>${row.client_ip}</bdi></a> ${row.country}`,
    },
    {
      title: t('log.risk'),
      is_number: true,
      cell: (row) => html`<${Risk} row=${row} />`,
    },
    {
      title: t('error.trace'),
      cell: (row) => html`<${Copy} text=${row.trace_id} label=${`${row.trace_id.slice(0, 8)}…`}
        what=${t('error.trace')} />`,
    },
  ];
}

const weights = new Map(/** @type {[string, number][]} */ (signals));

// The score of a request; it opens, and then lists what it is the sum of.
function Risk({ row }) {
  const t = useWords();
  const found = signals_of(row);
  const line = (name) => `+${score(weights.get(name))} ${t(`log.signal.${name}`)}`;
  if (found.length === 0) return score(row.risk_score);
  return html`<details class="risk"><summary title=${found.map(line).join('\n')}>
      ${score(row.risk_score)}</summary>
    <ul>${found.map((name) => html`<li key=${name}>${line(name)}</li>`)}</ul></details>`;
}

// Below the table, for those who cannot point at a score.
function AboutRisk() {
  const t = useWords();
  return html`<details class="about-risk"><summary>${t('log.about_risk')}</summary>
    <p>${t('log.about_risk_text')}</p>
    <dl class="facts">${signals.map(
      ([name, weight]) => html`<dt class="number">+${score(weight)}</dt>
      <dd>${t(`log.signal.${name}`)}</dd>`,
    )}</dl>
    <p><a href="#/platform/gateway">${t('gateway.title')}</a></p></details>`;
}

// Pages, pictures and scripts of the console: a look at a screen asks for many.
const is_of_console = (row) => /^\/console(\/|$)/.test(row.path);

const kind_of = (status) => (status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'well');

// How many of each kind in each minute, and how long they took, for the plots.
function minutes_of(rows) {
  const minutes = new Map();
  for (const row of rows) {
    const at = row.timestamp.slice(0, 16);
    if (!minutes.has(at)) {
      const begin = Date.parse(`${at}:00Z`) / 1000;
      minutes.set(at, { at: begin, well: 0, refused: 0, failed: 0, took: [] });
    }
    const minute = minutes.get(at);
    minute[kind_of(row.status_code)] += 1;
    minute.took.push(row.duration_ms);
  }
  return [...minutes.values()]
    .sort((one, other) => one.at - other.at)
    .map(({ took, ...minute }) => {
      const sorted = took.sort((one, other) => one - other);
      return { ...minute, median: sorted[sorted.length >> 1], slowest: sorted.at(-1) };
    });
}

export function AccessLog({ query }) {
  const t = useWords();
  const [is_live, set_live] = useState(true);
  const [what, set_what] = useState('requests');
  const filters = Object.fromEntries(filter_names.map((name) => [name, query[name] ?? '']));
  const path = with_query('/v1/admin/access-log', { ...filters, limit: 100 });
  const pages = usePages(path, { pick: (body) => body.data });
  const error = useNewRows(pages, filters, is_live);
  const is_whole = query.files === 'yes';
  const rows = useMemo(
    () => (is_whole ? pages.items : pages.items.filter((row) => !is_of_console(row))),
    [pages.items, is_whole],
  );
  const minutes = useMemo(() => minutes_of(rows), [rows]);
  return html`<div class="head"><h1>${t('log.title')}</h1><span class="space"></span>
      <label class="check"><input type="checkbox" checked=${is_whole}
        onChange=${(event) => set_query({ files: event.currentTarget.checked ? 'yes' : '' })} />
        ${t('log.console_files')}</label>
      <label class="check"><input type="checkbox" checked=${is_live}
        onChange=${(event) => set_live(event.currentTarget.checked)} />
        ${t('log.live')}</label></div>
    <${Filters} filters=${filters} />
    <${ErrorBox} error=${error} />
    ${
      minutes.length > 1 &&
      html`<div class="head"><h2>${t('log.by_minute')}</h2>
        <div class="choices" role="group" aria-label=${t('log.by_minute')}>${plots.map(
          (each) => html`<button type="button" class="small" key=${each}
            aria-pressed=${each === what ? 'true' : 'false'} onClick=${() => set_what(each)}>
            ${t(`usage.plot_${each}`)}</button>`,
        )}</div></div><${Plot} days=${minutes} what=${what} />`
    }
    <${AboutRisk} />
    <${Table} pages=${{ ...pages, items: rows, rest: async () => rows }} columns=${columns_of(t)}
      label=${t('log.title')} />`;
}
