// One MCP server: how it is called and listed, whose account it is connected with, and its tools,
// those first that wait for approval. Runs that wait for a connection lead here, so members who may
// not see the server can still connect.
import { api, with_query } from '../api.mjs';
import { Consent, page_of } from '../chat/connect.mjs';
import { ApiError } from '../error.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { address, go } from '../router.mjs';
import { ErrorBox, toast_error } from '../ui/error.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { useCall, usePages } from '../ui/list.mjs';
import { Day, Exact, When } from '../ui/when.mjs';
import '../words/org_mcp.mjs';
import { Changed, show_change } from './change.mjs';
import { McpForm } from './mcp_form.mjs';
import { McpState } from './mcp_servers.mjs';
import { McpTools } from './mcp_tools.mjs';
import { ask_and_do } from './parts.mjs';
import { History, scope_of, scope_query } from './scope.mjs';

const again_ms = 1000;

// `server` null: of one that the caller may not see.
function Connection({ server_id, server, on_change }) {
  const t = useWords();
  const connection = server?.connection;
  const [consent, set_consent] = useState(/** @type {any} */ (null));
  if (server && !connection) return null;
  const connect = async () => {
    try {
      const { body } = await api.post(`/v1/mcp-servers/${server_id}:connect`);
      const page = page_of(body.url);
      if (!page) throw new ApiError({ code: 'console.no_page', title: t('chat.no_page') });
      set_consent({ ...body, page });
    } catch (error) {
      toast_error(error);
    }
  };
  const disconnect = async () => {
    const is_gone = await ask_and_do({
      title: t('mcp.disconnect'),
      text: t(`mcp.disconnect_text.${connection.per}`),
      action: t('mcp.disconnect'),
      change: { action: 'mcp_servers.disconnect', target_id: server_id },
      work: () => api.del(`/v1/mcp-servers/${server_id}/connection`),
    });
    if (is_gone) on_change();
  };
  const is_connected = connection?.state === 'connected';
  const may_connect = !connection || connection.can_connect;
  return html`<section class="panel"><h2>${t('mcp.connection')}</h2>
    <p>${t(`mcp.connect_text.${connection?.per ?? 'user'}`)}</p>
    ${
      connection &&
      html`<dl class="facts"><dt>${t('org_ui.state')}</dt><dd>${t(
        `mcp.connection.${connection.state}`,
      )}${connection.connected_at && html`, <${When} at=${connection.connected_at} />`}</dd>
      ${
        connection.expires_at &&
        html`<dt>${t('mcp.expires')}</dt><dd><${Exact} at=${connection.expires_at} /></dd>`
      }
      ${
        connection.scopes.length > 0 &&
        html`<dt>${t('mcp.scopes')}</dt><dd><bdi>${connection.scopes.join(' ')}</bdi></dd>`
      }
      ${
        connection.wanted_scopes?.length > 0 &&
        html`<dt>${t('mcp.wanted_scopes')}</dt>
        <dd><bdi>${connection.wanted_scopes.join(' ')}</bdi></dd>`
      }</dl>`
    }
    ${connection?.error && html`<p class="fault"><bdi>${connection.error}</bdi></p>`}
    ${
      connection?.failing_since &&
      html`<p class="dim">${t('mcp.failing', { since: time(connection.failing_since) })}</p>`
    }
    ${!may_connect && html`<p class="dim">${t('mcp.cannot_connect')}</p>`}
    <div class="actions"><button type="button" class=${is_connected ? '' : 'main'}
        disabled=${!may_connect} onClick=${connect}>
        ${t(is_connected ? 'mcp.connect_again' : 'mcp.connect')}</button>
      ${
        is_connected &&
        html`<button type="button" class="danger" onClick=${disconnect}>
        ${t('mcp.disconnect')}</button>`
      }</div>
    ${
      consent &&
      html`<${Dialog} title=${t('mcp.consent.title')} on_close=${() => set_consent(null)}>
      <${Consent} consent=${consent} />
      <div class="actions"><button type="button" class="main" autofocus
        onClick=${() => location.assign(consent.page.href)}>
        ${t('mcp.consent.go_on', { host: consent.page.host })}</button></div><//>`
    }</section>`;
}

function Authorization({ authorization }) {
  const t = useWords();
  const { type, names = [], per, client_id, scopes = [] } = authorization;
  const more = [
    ...names,
    type === 'oauth' && t(`mcp.per.${per}`),
    client_id,
    scopes.length > 0 && scopes.join(' '),
  ].filter(Boolean);
  return html`${t(`mcp.type.${type}`)}${more.length > 0 && html`: <bdi>${more.join(', ')}</bdi>`}`;
}

function Facts({ server }) {
  const t = useWords();
  const { listing } = server;
  const facts = [
    [t('org_ui.url'), server.url && html`<bdi>${server.url}</bdi>`],
    [
      t('mcp.authorization'),
      html`<${Authorization} authorization=${server.authorization} />`,
    ],
    [t('mcp.trust'), t(`mcp.trust.${server.trust}`)],
    [
      t('mcp.allowed'),
      server.allowed_tools.length > 0 && html`<bdi>${server.allowed_tools.join(', ')}</bdi>`,
    ],
    [
      t('mcp.listed'),
      listing.at && html`<${When} at=${listing.at} />`,
    ],
    [t('mcp.revision'), listing.protocol_version],
    [t('mcp.since'), html`<${Day} at=${server.created_at} />`],
  ];
  return html`<dl class="facts">${facts
    .filter(([, value]) => value)
    .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// Why the listing failed, and which tools it could not take.
function Listing({ listing }) {
  const t = useWords();
  return html`${
    listing.error &&
    html`<div class="error"><p><strong>${t('mcp.listing_failed')}</strong>${' '}
      <bdi>${listing.error.message}</bdi></p><p><code>${listing.error.code}</code></p></div>`
  }${
    listing.left_out.length > 0 &&
    html`<div class="banner"><p>${t('mcp.left_out')}</p><ul>${listing.left_out.map(
      (one) => html`<li><code>${one.name}</code> <bdi>${one.reason}</bdi></li>`,
    )}</ul></div>`
  }`;
}

function Actions({ server, scope, on_edit, on_change }) {
  const t = useWords();
  const query = { scope };
  const refresh = async () => {
    try {
      const path = /** @type {const} */ (`/v1/mcp-servers/${server.id}:refresh`);
      on_change((await api.post(path, undefined, { query })).body);
    } catch (error) {
      toast_error(error);
    }
  };
  const remove = async () => {
    const is_gone = await ask_and_do({
      title: t('mcp.remove'),
      text: t('mcp.remove_text', { key: server.key }),
      action: t('mcp.remove'),
      typed: server.key,
      work: () => api.del(`/v1/mcp-servers/${server.id}`, undefined, { query }),
    });
    if (!is_gone) return;
    go('/mcp-servers', scope_query(scope), { replace: true });
    await show_change({ action: 'mcp_servers.delete', target_id: server.id });
  };
  return html`<button type="button" onClick=${refresh} disabled=${!server.is_active}>
      ${t('mcp.refresh')}</button>
    <button type="button" onClick=${on_edit}>${t('org_ui.edit')}</button>
    <button type="button" class="danger" onClick=${remove}>${t('mcp.remove')}</button>`;
}

/** @param {{params?: any, query?: any}} props */
export function McpServer({ params, query = {} }) {
  const t = useWords();
  const scope = scope_of(query);
  const { server_id } = params;
  const found = useCall(`/v1/mcp-servers/${server_id}`, { query: { scope } });
  const tools_path = /** @type {`/v1/mcp-servers/${string}/tools`} */ (
    with_query(`/v1/mcp-servers/${server_id}/tools`, { scope, limit: 200 })
  );
  const tools = usePages(found.body ? tools_path : null);
  const [is_editing, set_editing] = useState(false);
  const server = found.body;
  const is_listing = server?.listing.state === 'pending' && server.is_active;
  const latest = useRef(found);
  latest.current = found;
  const was_listing = useRef(false);
  useEffect(() => {
    if (was_listing.current && !is_listing) tools.reload();
    was_listing.current = is_listing;
    if (!is_listing) return undefined;
    const look = () => document.hidden || latest.current.is_loading || latest.current.reload();
    const timer = setInterval(look, again_ms);
    return () => clearInterval(timer);
  }, [is_listing]);
  const back = html`<p><a href=${address('/mcp-servers', scope_query(scope))}>
    ← ${t('mcp.title')}</a></p>`;
  if (found.error?.status === 403) {
    return html`<h1>${t('mcp.title')}</h1>
      <${Connection} server_id=${server_id} server=${null} />`;
  }
  const problem = html`<${ErrorBox} error=${found.error} on_retry=${found.reload} />`;
  if (found.error && !server) return problem;
  if (!server) return html`<p class="dim working">${t('loading')}</p>`;
  const is_own = server.scope === scope;
  const reload = () => {
    found.reload();
    tools.reload();
  };
  return html`${back}<div class="head"><h1><code>${server.key}</code></h1>
      <${McpState} server=${server} />
      ${!is_own && html`<span class="mark">${t('scope.platform')}</span>`}
      <span class="space"></span>
      ${
        is_own &&
        html`<${History} target_type="mcp_server" target_id=${server.id} scope=${scope} />
        <${Actions} server=${server} scope=${scope} on_edit=${() => set_editing(true)}
        on_change=${found.set} />`
      }</div>
    <${Changed} />${problem}
    <${Facts} server=${server} />
    <${Listing} listing=${server.listing} />
    <${Connection} server_id=${server.id} server=${server} on_change=${reload} />
    <${McpTools} server=${server} scope=${scope} pages=${tools} may_approve=${is_own} />
    ${
      is_editing &&
      html`<${McpForm} server=${server} scope=${scope} on_close=${() => set_editing(false)}
        on_done=${(changed, action) => {
          set_editing(false);
          found.set(changed);
          tools.reload();
          show_change({ action, target_id: server.id });
        }} />`
    }`;
}
