// The platform at a glance: its numbers, what is not well, usage by day and model.
import { with_query } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { number, usd, useWords } from '../i18n.mjs';
import { Plot } from '../screens/usage.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Table, useCall } from '../ui/list.mjs';
import '../words/platform.mjs';
import { Findings } from './nodes.mjs';
import { whole_list } from './parts.mjs';

const days_shown = 30;
const day_of = (ms) => new Date(ms).toISOString().slice(0, 10);
const lately = () => ({ start: day_of(Date.now() - days_shown * 864e5), end: day_of(Date.now()) });

/** @type {[string, (value: any) => string][]} */
const figures = [
  ['total_users', number],
  ['active_users_30d', number],
  ['active_orgs', number],
  ['runs_today', number],
  ['total_runs', number],
  ['total_input_tokens', number],
  ['total_output_tokens', number],
  ['total_cost_usd', usd],
];

function Health() {
  const t = useWords();
  const nodes = useCall('/v1/admin/nodes');
  if (nodes.error) return html`<${ErrorBox} error=${nodes.error} on_retry=${nodes.reload} />`;
  if (!nodes.body) return null;
  const findings = nodes.body.flatMap((node) => node.findings);
  const doubts = findings.filter((finding) => finding.verdict !== 'ok');
  return html`<h2>${t('platform.health')}</h2>
    ${
      doubts.length
        ? html`<${Findings} findings=${doubts} />`
        : html`<p>${t('platform.all_well')}</p>`
    }
    <p><a href="#/platform/nodes">${t('platform.nodes')}</a></p>`;
}

export function Dashboard() {
  const t = useWords();
  const [what, set_what] = useState('tokens');
  const [span] = useState(lately);
  const sums = useCall('/v1/admin/dashboard');
  const days = useCall(with_query('/v1/admin/usage/daily', span));
  const models = useCall('/v1/admin/usage/by-model');
  return html`<h1>${t('platform.dashboard')}</h1>
    <${ErrorBox} error=${sums.error ?? days.error} on_retry=${() => {
      sums.reload();
      days.reload();
    }} />
    ${
      sums.body &&
      html`<ul class="figures even">${figures.map(
        ([member, shown]) => html`<li><strong>${shown(sums.body[member])}</strong>
          ${t(`platform.sum.${member}`)}</li>`,
      )}</ul>`
    }
    <${Health} />
    <div class="head"><h2>${t('platform.last_days', { count: days_shown })}</h2>
      <div class="choices" role="group" aria-label=${t('usage.by_day')}>${['tokens', 'cost'].map(
        (each) => html`<button type="button" class="small"
          aria-pressed=${each === what ? 'true' : 'false'} onClick=${() => set_what(each)}>
          ${t(`usage.plot_${each}`)}</button>`,
      )}</div></div>
    ${days.body && html`<${Plot} days=${days.body} what=${what} />`}
    <h2>${t('platform.models_this_month')}</h2>
    <${Table} pages=${whole_list(models)} label=${t('usage.by_model')} key_of=${(row) => row.model}
      empty=${t('usage.nothing')} columns=${[
        {
          title: t('usage.model'),
          is_title: true,
          is_wide: true,
          cell: (row) => html`<bdi>${row.model}</bdi>`,
        },
        { title: t('usage.input'), is_number: true, cell: (row) => number(row.input_tokens) },
        { title: t('usage.output'), is_number: true, cell: (row) => number(row.output_tokens) },
        { title: t('usage.cost'), is_number: true, cell: (row) => usd(row.cost_usd) },
      ]} />`;
}
