// The form of an MCP server: a new one, or changes of one. The form asks for secrets and never
// shows them.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { changes_of, Field, Form, list_in, Submit, useForm } from '../ui/form.mjs';
import '../words/org_shared.mjs';
import '../words/org_mcp.mjs';

const kinds = ['none', 'bearer', 'headers', 'oauth'];
const lines_of = (text) => text.split('\n').filter((line) => line.trim());

// 'Name: value' a line; a line without a colon goes as it is, to be refused.
const headers_of = (text) =>
  Object.fromEntries(
    lines_of(text).map((line) => {
      const [name, value = ''] = line.split(/:(.*)/s);
      return [name.trim(), value.trim()];
    }),
  );

function authorization_of({ type, token, headers, per, client_id, client_secret, scopes }) {
  if (type === 'keep') return undefined;
  if (type === 'bearer') return { type, token };
  if (type === 'headers') return { type, headers: headers_of(headers) };
  if (type !== 'oauth') return { type };
  return {
    type,
    per,
    client_id: client_id.trim() || null,
    client_secret: client_secret || null,
    scopes: list_in(scopes),
  };
}

function Authorization({ form }) {
  const t = useWords();
  const { type } = form.values;
  const plain = { form, autocomplete: 'off', spellcheck: 'false' };
  if (type === 'bearer')
    return html`<${Field} form=${form} name="token" type="password" label=${t('mcp.token')}
      maxlength="8192" autocomplete="new-password" />`;
  if (type === 'headers')
    return html`<${Field} ...${plain} name="headers" rows="3" label=${t('mcp.headers')}
      hint=${t('mcp.headers_hint')} />`;
  if (type !== 'oauth') return null;
  return html`<${Field} form=${form} name="per" label=${t('mcp.per')}
      options=${['user', 'org'].map((per) => [per, t(`mcp.per.${per}`)])} />
    <${Field} ...${plain} name="client_id" label=${t('mcp.client_id')} maxlength="2048"
      hint=${t('mcp.client_hint')} />
    <${Field} form=${form} name="client_secret" type="password" label=${t('mcp.client_secret')}
      maxlength="2048" autocomplete="new-password" />
    <${Field} ...${plain} name="scopes" label=${t('mcp.scopes')} hint=${t('mcp.scopes_hint')} />`;
}

// `on_done(server, action)` gets what the service answers, and the action of its audit row.
/** @param {{server?: any, scope: 'org' | 'platform', [more: string]: any}} props */
export function McpForm({ server = null, scope, on_done, on_close }) {
  const t = useWords();
  const title = t(server ? 'mcp.edit' : 'mcp.new');
  const query = { scope };
  // The first values of the fields: it is read again and again while its tools are listed.
  const [before] = useState(server);
  const { per = 'user', client_id = '', scopes = [] } = server?.authorization ?? {};
  const form = useForm({
    key: server?.key ?? '',
    url: server?.url ?? '',
    type: server ? 'keep' : 'none',
    token: '',
    headers: '',
    per,
    client_id: client_id ?? '',
    client_secret: '',
    scopes: scopes.join(' '),
    allowed_tools: server?.allowed_tools.join('\n') ?? '',
    trust: server?.trust ?? 'ask',
    is_active: server?.is_active ?? true,
  });
  const send = (values, key) =>
    with_fresh_login(async () => {
      const body = {
        url: values.url.trim(),
        authorization: authorization_of(values),
        allowed_tools: lines_of(values.allowed_tools).map((line) => line.trim()),
        trust: values.trust,
        is_active: values.is_active,
      };
      const changes = before && changes_of(body, before);
      if (before && !changes) return on_close();
      const { body: done } = server
        ? await api.patch(`/v1/mcp-servers/${server.id}`, changes, { query })
        : await api.post(
            '/v1/mcp-servers',
            { key: values.key.trim(), ...body },
            { query, idempotency_key: key },
          );
      on_done(done, server ? 'mcp_servers.update' : 'mcp_servers.create');
    });
  const plain = { form, autocomplete: 'off', spellcheck: 'false' };
  const choices = server ? ['keep', ...kinds] : kinds;
  return html`<${Dialog} title=${title} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${send}>
      ${
        !server &&
        html`<${Field} ...${plain} name="key" label=${t('mcp.key')} maxlength="32" autofocus
          hint=${t('mcp.key_hint')} />`
      }
      <${Field} ...${plain} name="url" type="url" label=${t('org_ui.url')} maxlength="2048"
        hint=${t(`mcp.url_hint.${scope}`)} />
      <${Field} form=${form} name="type" label=${t('mcp.authorization')}
        options=${choices.map((type) => [type, t(`mcp.type.${type}`)])} />
      <${Authorization} form=${form} />
      <${Field} form=${form} name="trust" label=${t('mcp.trust')} hint=${t('mcp.trust_hint')}
        options=${['ask', 'run'].map((trust) => [trust, t(`mcp.trust.${trust}`)])} />
      <${Field} ...${plain} name="allowed_tools" rows="2" label=${t('mcp.allowed')}
        hint=${t('mcp.allowed_hint')} />
      <${Field} form=${form} name="is_active" type="checkbox" label=${t('org_ui.active')}
        hint=${t('mcp.active_hint')} />
      <div class="actions"><${Submit} form=${form}>${t(server ? 'save' : 'org_ui.add')}<//></div>
    <//><//>`;
}
