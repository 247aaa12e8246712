// Usage of the organization: a month in figures, by day as a plot, by model and by end user.
import { with_query } from '../api.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { language, number, time, usd, useWords, utc_day } from '../i18n.mjs';
import { load_part, PartError } from '../lazy.mjs';
import { set_query } from '../router.mjs';
import { theme } from '../settings.mjs';
import { store, useStore } from '../store.mjs';
import { CsvButton } from '../ui/csv_button.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';

/**
 * @template {{items: unknown[]}} Pages
 * @typedef {import('../types/calls').Columns<Pages>} Columns
 */
/** @typedef {import('../types/calls').Schemas} Schemas */
const months_shown = 24;
const system_is_dark = store(matchMedia('(prefers-color-scheme: dark)').matches);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
  system_is_dark.set(event.matches);
});

// '2026-11' of a time, by UTC as the service counts.
const month_of = (when) => when.toISOString().slice(0, 7);

function months() {
  const now = new Date();
  return Array.from({ length: months_shown }, (none, back) =>
    month_of(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1))),
  );
}

// The first and the last day of '2026-11', which is not after today.
function days_of(month) {
  const [year, number_of_month] = month.split('-').map(Number);
  const last = new Date(Date.UTC(year, number_of_month, 0)).toISOString().slice(0, 10);
  const today = new Date().toISOString().slice(0, 10);
  return { start: `${month}-01`, end: last < today ? last : today };
}

// The plot comes in a part of its own, when the first one is shown. Later ones are drawn at once:
// one whose days come all the time never stands empty.
let drawer = null;
export function Plot({ days, what }) {
  const t = useWords();
  const place = useRef(null);
  const [error, set_error] = useState(null);
  const [tries, set_tries] = useState(0);
  const look = `${useStore(theme)} ${useStore(system_is_dark)} ${useStore(language)}`;
  useEffect(() => {
    const box = place.current;
    let plot = null;
    let is_gone = false;
    const draw = () => {
      if (!is_gone && box) plot = drawer.make_plot(box, days, what);
    };
    if (drawer) {
      draw();
    } else {
      load_part(() => import('./plot.mjs')).then((part) => {
        drawer = part;
        draw();
      }, set_error);
    }
    return () => {
      is_gone = true;
      plot?.end();
    };
  }, [days, what, look, tries]);
  const again = () => {
    set_error(null);
    set_tries(tries + 1);
  };
  if (error) return html`<${PartError} error=${error} get=${again} />`;
  const name = t(`usage.plot_${what}`);
  return html`<div class="plot" ref=${place} role="img" aria-label=${name}></div>
    <${CsvButton} name=${name} make=${(part) => part.csv_of_members(days)} />`;
}

// The figures of the plot, for those who read rather than look.
/** @param {{days: Schemas['UsageDay'][]}} props */
function Days({ days }) {
  const t = useWords();
  /** @type {Columns<{items: Schemas['UsageDay'][]}>} */
  const columns = [
    { title: t('usage.day'), is_title: true, cell: (row) => utc_day(row.date) },
    { title: t('usage.input'), is_number: true, cell: (row) => number(row.input_tokens) },
    { title: t('usage.output'), is_number: true, cell: (row) => number(row.output_tokens) },
    { title: t('usage.cost'), is_number: true, cell: (row) => usd(row.cost_usd) },
    { title: t('usage.records'), is_number: true, cell: (row) => number(row.record_count) },
  ];
  const used = days.filter((row) => row.record_count > 0).reverse();
  const pages = { items: used, has_more: false, is_loading: false, error: null };
  return html`<details><summary>${t('usage.as_table')}</summary><${Table} pages=${pages}
    columns=${columns}
    label=${t('usage.by_day')} key_of=${(row) => row.date}
      empty=${t('usage.nothing')} /></details>`;
}

/** @returns {Columns<{items: (Schemas['UsageOfModel'] | Schemas['UsageOfEndUser'])[]}>} */
const figures = (t) => [
  { title: t('usage.input'), is_number: true, cell: (row) => number(row.input_tokens) },
  { title: t('usage.output'), is_number: true, cell: (row) => number(row.output_tokens) },
  { title: t('usage.cost'), is_number: true, cell: (row) => usd(row.cost_usd) },
];

export function Usage({ query }) {
  const t = useWords();
  const [what, set_what] = useState('tokens');
  const offered = months();
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(query.month ?? '') ? query.month : offered[0];
  const [year, number_of_month] = month.split('-').map(Number);
  const of_month = { year, month: number_of_month };
  const sum = useCall(with_query('/v1/me/usage', of_month));
  const days = useCall(with_query('/v1/me/usage/daily', days_of(month)));
  const models = useCall(with_query('/v1/me/usage/by-model', of_month));
  const end_users = usePages(with_query('/v1/me/usage/by-end-user', of_month));
  const of_models = {
    items: models.body ?? [],
    has_more: false,
    is_loading: models.is_loading,
    error: models.error,
    again: models.reload,
  };
  const name_of = (text) => time(`${text}-15T12:00:00Z`, { year: 'numeric', month: 'long' });
  return html`<div class="head"><h1>${t('usage.title')}</h1><span class="space"></span>
      <label>${t('usage.month')}${' '}<select value=${month}
        onChange=${(event) => set_query({ month: event.currentTarget.value })}>
        ${[...new Set([...offered, month])].map(
          (one) => html`<option value=${one} selected=${one === month}>
          ${name_of(one)}</option>`,
        )}</select></label></div>
    <${ErrorBox} error=${sum.error ?? days.error} on_retry=${() => {
      sum.reload();
      days.reload();
    }} />
    ${
      sum.body &&
      html`<ul class="figures">
      <li><strong>${usd(sum.body.total_cost_usd)}</strong>${t('usage.cost')}</li>
      <li><strong>${number(sum.body.total_input_tokens)}</strong>${t('usage.input')}</li>
      <li><strong>${number(sum.body.total_output_tokens)}</strong>${t('usage.output')}</li>
      <li><strong>${number(sum.body.record_count)}</strong>${t('usage.records')}</li></ul>`
    }
    <div class="head"><h2>${t('usage.by_day')}</h2><div class="choices" role="group"
      aria-label=${t('usage.by_day')}>${['tokens', 'cost'].map(
        (each) => html`<button type="button" class="small"
        aria-pressed=${each === what ? 'true' : 'false'} onClick=${() => set_what(each)}>
        ${t(`usage.plot_${each}`)}</button>`,
      )}</div></div>
    ${
      days.body
        ? html`<${Plot} days=${days.body} what=${what} /><${Days} days=${days.body} />`
        : days.is_loading && html`<p class="dim working">${t('loading')}</p>`
    }
    <h2>${t('usage.by_model')}</h2>
    <${Table} pages=${of_models} label=${t('usage.by_model')} key_of=${(row) => row.model}
      empty=${t('usage.nothing')} columns=${/** @type {Columns<typeof of_models>} */ ([
        {
          title: t('usage.model'),
          is_title: true,
          is_wide: true,
          cell: (row) => html`<bdi>${row.model}</bdi>`,
        },
        ...figures(t),
        { title: t('usage.records'), is_number: true, cell: (row) => number(row.record_count) },
      ])} />
    <h2>${t('usage.by_end_user')}</h2>
    <${Table} pages=${end_users} label=${t('usage.by_end_user')}
      key_of=${(row) => row.end_user ?? ''}
      empty=${t('usage.nothing')} columns=${/** @type {Columns<typeof end_users>} */ ([
        {
          title: t('usage.end_user'),
          is_title: true,
          is_wide: true,
          cell: (row) =>
            row.end_user === null
              ? html`<span class="dim">${t('usage.nobody')}</span>`
              : html`<bdi>${row.end_user}</bdi>`,
        },
        ...figures(t),
        { title: t('usage.credits'), is_number: true, cell: (row) => number(row.credits) },
        { title: t('usage.records'), is_number: true, cell: (row) => number(row.record_count) },
      ])} />`;
}
