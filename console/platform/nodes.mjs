// How every part is: daemons, pools, the database and the work in it, in the words of
// `hostlerctl doctor`.
import { html, useEffect } from '../html.mjs';
import { ago, number, time, useWords } from '../i18n.mjs';
import { Table, useCall } from '../ui/list.mjs';
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

export function Nodes() {
  const t = useWords();
  const nodes = useCall('/v1/admin/nodes');
  useEffect(() => {
    const timer = setInterval(() => document.hidden || nodes.reload(), again_ms);
    return () => clearInterval(timer);
  }, []);
  const findings = (nodes.body ?? []).flatMap((node) => node.findings);
  const counted = (value) => (value === null ? '' : number(value));
  const columns = [
    {
      title: t('platform.kind'),
      is_title: true,
      cell: (row) => html`<span class="mark">${t(`platform.kind.${row.kind}`)}</span>`,
    },
    { title: t('platform.host'), is_wide: true, cell: (row) => html`<bdi>${row.host}</bdi>` },
    { title: t('platform.version'), cell: (row) => html`<bdi>${row.version}</bdi>` },
    {
      title: t('platform.since'),
      cell: (row) => html`<span title=${time(row.started_at)}>${ago(row.started_at)}</span>`,
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
    ${nodes.body && html`<${Findings} findings=${findings} />`}`;
}
