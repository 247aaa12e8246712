// MCP servers, whose tools models may call: the list, and where a person comes back to from an
// authorization server. One of them is mcp_server.mjs. `scope` platform: for every organization.
import { with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go } from '../router.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import '../words/org_mcp.mjs';
import { Changed, show_change } from './change.mjs';
import { McpForm } from './mcp_form.mjs';
import { ScopeTabs, scope_of } from './scope.mjs';

const listing_marks = { ok: 'good', failed: 'bad', pending: 'live' };

// How the server is: whether it is used, and what came of listing its tools.
export function McpState({ server }) {
  const t = useWords();
  const { state } = server.listing;
  return html`${
    !server.is_active && html`<span class="mark warn">${t('org_ui.inactive')}</span> `
  }<span class=${`mark ${listing_marks[state]}`}>${t(`mcp.listing.${state}`)}</span>${
    server.connection &&
    html` <span class=${`mark ${server.connection.state === 'connected' ? 'good' : 'warn'}`}>${t(
      `mcp.connection.${server.connection.state}`,
    )}</span>`
  }`;
}

/** @param {{params?: any, query?: any}} props */
export function McpServers({ query = {} }) {
  const t = useWords();
  const scope = scope_of(query);
  const pages = usePages(with_query('/v1/mcp-servers', { scope }));
  const [is_making, set_making] = useState(false);
  const open_new = () => set_making(true);
  useCommands([{ id: 'new mcp', keys: 'n', label: () => t('mcp.new'), run: open_new }]);
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('mcp.key'),
      is_title: true,
      cell: (one) => html`<a href=${address(`/mcp-servers/${one.id}`, {
        scope: one.scope === 'platform' && scope === 'platform' ? 'platform' : '',
      })}><code>${one.key}</code></a>${
        one.scope !== scope && html` <span class="mark">${t('scope.platform')}</span>`
      }`,
    },
    { title: t('org_ui.url'), is_wide: true, cell: (one) => html`<bdi>${one.url}</bdi>` },
    { title: t('mcp.authorization'), cell: (one) => t(`mcp.type.${one.authorization.type}`) },
    { title: t('mcp.trust'), cell: (one) => t(`mcp.trust_short.${one.trust}`) },
    { title: t('org_ui.state'), cell: (one) => html`<${McpState} server=${one} />` },
    {
      title: t('mcp.listed'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.listing.at} />`,
    },
  ];
  return html`<div class="head"><h1>${t('mcp.title')}</h1><${ScopeTabs} scope=${scope} />
      <span class="space"></span>
      <${Adder} pages=${pages} on_click=${open_new}>
        ${t('mcp.new')}<//></div>
    <${Changed} />
    <p class="dim">${t('mcp.explain')}</p>
    <${Table} pages=${pages} columns=${columns} label=${t('mcp.title')} empty=${{
      text: t('mcp.empty'),
      action: t('mcp.new'),
      on_action: open_new,
    }} />
    ${
      is_making &&
      html`<${McpForm} scope=${scope} on_close=${() => set_making(false)}
        on_done=${async (made, action) => {
          go(`/mcp-servers/${made.id}`, { scope: scope === 'platform' ? scope : '' });
          await show_change({ action, target_id: made.id });
        }} />`
    }`;
}

const outcomes = ['ok', 'invalid_state', 'wrong_issuer', 'refused'];

// Where the service leads the browser when an authorization server has answered.
/** @param {{params?: any, query?: any}} props */
export function McpConnected({ query = {} }) {
  const t = useWords();
  const outcome = outcomes.includes(query.outcome) ? query.outcome : 'refused';
  return html`<h1>${t('mcp.title')}</h1>
    <p class=${outcome === 'ok' ? 'notice' : 'error'} role="status">
      ${t(`mcp.outcome.${outcome}`)}</p>
    ${
      query.server_id &&
      html`<p><a href=${address(`/mcp-servers/${query.server_id}`)}>${t('mcp.to_server')}</a></p>`
    }
    <p><a href="#/inbox">${t('mcp.to_inbox')}</a></p>`;
}
