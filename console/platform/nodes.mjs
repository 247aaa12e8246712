// How every part is: daemons, pools, the database and the work in it, in the words of
// `hostlerctl doctor`.
import { html, useEffect } from '../html.mjs';
import { duration, number, useWords } from '../i18n.mjs';
import { Table, useCall } from '../ui/list.mjs';
import { Exact, When } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_system.mjs';
import { whole_list } from './parts.mjs';

const again_ms = 10_000;
const look = { ok: 'good', warning: 'warn', failure: 'bad' };

export function Findings({ findings }) {
  const t = useWords();
  const columns = [
    {
      title: t('platform.verdict'),
      is_title: true,
      cell: (row) => html`<span class=${`mark ${look[row.verdict]}`}>
        ${t(`platform.verdict.${row.verdict}`)}</span>`,
    },
    { title: t('platform.part'), cell: (row) => row.what },
    { title: t('platform.words'), is_wide: true, cell: (row) => html`<bdi>${row.message}</bdi>` },
  ];
  return html`<${Table} pages=${whole_list({}, findings)} columns=${columns}
    label=${t('platform.health')} key_of=${(row) => `${row.what} ${row.message}`} />`;
}

// Jobs that one daemon does for all on schedule, and the last failure of each.
function Jobs({ maintenance }) {
  const t = useWords();
  const columns = [
    { title: t('platform.job'), is_title: true, cell: (row) => html`<code>${row.job}</code>` },
    { title: t('platform.period'), is_number: true, cell: (row) => duration(row.period_ms) },
    {
      title: t('platform.done_at'),
      cell: (row) => html`<${When} at=${row.done_at} />`,
    },
    { title: t('log.took'), is_number: true, cell: (row) => duration(row.took_ms) },
    {
      title: t('platform.faults'),
      is_wide: true,
      cell: (row) =>
        row.faults > 0 &&
        html`<span class="mark bad">${number(row.faults)}</span> <bdi>${row.fault}</bdi>
          <span class="dim"><${When} at=${row.fault_at} /></span>`,
    },
  ];
  return html`<h2>${t('platform.jobs')}</h2>
    <p>${t('platform.jobs_text')} <${Exact} at=${maintenance.since} />.</p>
    <${Table} pages=${whole_list({}, maintenance.jobs)} columns=${columns}
      label=${t('platform.jobs')} key_of=${(row) => row.job} />`;
}

export function Nodes() {
  const t = useWords();
  const nodes = useCall('/v1/admin/nodes');
  useEffect(() => {
    const timer = setInterval(() => document.hidden || nodes.reload(), again_ms);
    return () => clearInterval(timer);
  }, []);
  const findings = (nodes.body ?? []).flatMap((node) => node.findings);
  const maintainer = nodes.body?.find((node) => node.maintenance);
  const counted = (value) => (value === null ? '' : number(value));
  const columns = [
    {
      title: t('platform.kind'),
      is_title: true,
      cell: (row) => html`<span class="mark">${t(`platform.kind.${row.kind}`)}</span>`,
    },
    { title: t('platform.host'), is_wide: true, cell: (row) => html`<bdi>${row.host}</bdi>` },
    {
      title: t('platform.version'),
      is_wide: true,
      cell: (row) => html`<bdi>${row.version}</bdi>`,
    },
    {
      title: t('platform.since'),
      cell: (row) => html`<${When} at=${row.started_at} />`,
    },
    {
      title: t('platform.runs'),
      is_number: true,
      cell: (row) => (row.kind === 'daemon' ? number(row.runs) : ''),
    },
    {
      title: t('platform.streams'),
      is_number: true,
      cell: (row) => (row.kind === 'daemon' ? number(row.streams) : ''),
    },
    {
      title: t('platform.connections'),
      is_number: true,
      cell: (row) => counted(row.connections),
    },
  ];
  return html`<div class="head"><h1>${t('platform.nodes')}</h1>
      <span class="dim">${t('platform.every', { seconds: again_ms / 1000 })}</span></div>
    <${Table} pages=${whole_list(nodes)} columns=${columns} label=${t('platform.nodes')} />
    <h2>${t('platform.health')}</h2>
    <p>${t('platform.doctor')} <code>hostlerctl doctor</code></p>
    ${nodes.body && html`<${Findings} findings=${findings} />`}
    ${maintainer && html`<${Jobs} maintenance=${maintainer.maintenance} />`}`;
}
