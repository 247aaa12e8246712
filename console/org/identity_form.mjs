// The form of an identity provider: a new one, or changes of one. It asks for the client secret and
// never shows it.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { t as words, useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { changes_of, Field, Form, list_in, Submit, useForm } from '../ui/form.mjs';
import '../words/identity_providers.mjs';
import { refuse } from './parts.mjs';

/** @typedef {import('../types/calls').Schemas['IdentityProvider']} IdentityProvider */

// Addresses for the provider's own settings.
export const callback_of = (key) => `${location.origin}/v1/auth/sso/callback/${key}`;
export const logout_of = (key) => `${location.origin}/v1/auth/sso/backchannel-logout/${key}`;

// 'group: role', one a line; a group may have colons itself.
function role_map_of(text) {
  const rows = text.split('\n').map((line) => line.trim());
  const map = /** @type {Record<string, 'admin' | 'member'>} */ ({});
  for (const row of rows.filter(Boolean)) {
    const found = row.match(/^(.+):\s*(admin|member)$/);
    if (!found) refuse('role_map', words('identity.bad_role', { line: row }));
    map[found[1].trim()] = found[2] === 'admin' ? 'admin' : 'member';
  }
  return map;
}
const lines_of = (role_map) =>
  Object.entries(role_map)
    .map(([group, role]) => `${group}: ${role}`)
    .join('\n');

const fields_of = (provider) => ({
  key: provider?.key ?? '',
  display_name: provider?.display_name ?? '',
  issuer: provider?.issuer ?? '',
  client_id: provider?.client_id ?? '',
  client_secret: '',
  scopes: (provider?.scopes ?? ['openid', 'email', 'profile']).join(' '),
  domains: (provider?.domains ?? []).join('\n'),
  groups_claim: provider?.groups_claim ?? '',
  role_map: lines_of(provider?.role_map ?? {}),
  create_users: provider?.create_users ?? false,
  is_required: provider?.is_required ?? false,
  trust_email: provider?.trust_email ?? false,
  has_second_factor: provider?.has_second_factor ?? false,
  is_active: provider?.is_active ?? true,
});

// Only platform administrators set `trust_email` and `has_second_factor`; only organizations
// require a provider.
const body_of = (values, scope) => ({
  display_name: values.display_name.trim(),
  issuer: values.issuer.trim(),
  client_id: values.client_id.trim(),
  client_secret: values.client_secret.trim() || undefined,
  scopes: list_in(values.scopes),
  domains: list_in(values.domains),
  groups_claim: values.groups_claim.trim() || null,
  role_map: role_map_of(values.role_map),
  create_users: values.create_users,
  is_active: values.is_active,
  ...(scope === 'platform'
    ? { trust_email: values.trust_email, has_second_factor: values.has_second_factor }
    : { is_required: values.is_required }),
});

// Returns the text of what the change ends or shuts, for the user to agree to; '' for nothing.
function danger_of(values, provider, t) {
  const is_other = provider && ['issuer', 'client_id'].some((one) => values[one] !== provider[one]);
  const is_off = provider?.is_active && !values.is_active;
  const shuts = values.is_required && values.is_active;
  const was_shut = provider?.is_required && provider.is_active;
  return [
    (is_other || is_off) && t('identity.ends_text'),
    shuts && !was_shut && t('identity.required_text'),
  ]
    .filter(Boolean)
    .join(' ');
}

function Addresses({ provider_key }) {
  const t = useWords();
  const row = (title, text) => html`<dt>${title}</dt>
    <dd><code>${text}</code> <${Copy} text=${text} what=${title} /></dd>`;
  return html`<dl class="facts">${row(t('identity.callback'), callback_of(provider_key))}
    ${row(t('identity.logout'), logout_of(provider_key))}</dl>`;
}

// `on_done(provider, action)` gets what the service answers, and the action of its audit row.
// `headers`: of the organization whose provider it is, where another one is acted in.
/**
 * @param {{provider?: IdentityProvider | null, scope: 'org' | 'platform', [more: string]: any}}
 *   props
 */
export function IdentityForm({ provider = null, scope, headers, on_done, on_close }) {
  const t = useWords();
  const title = t(provider ? 'identity.edit' : 'identity.new');
  const form = useForm(fields_of(provider));
  const { values } = form;
  const send = async (given, key) => {
    const body = body_of(given, scope);
    const changes = provider && changes_of(body, provider);
    if (provider && !changes) return on_close();
    const text = danger_of(body, provider, t);
    const typed = provider?.key ?? given.key.trim();
    const question = { title, text, typed, action: t('identity.do_it') };
    if (text && !(await ask(question))) return undefined;
    const options = { query: { scope }, headers };
    await with_fresh_login(async () => {
      const { body: done } = provider
        ? await api.patch(`/v1/identity-providers/${provider.id}`, changes, options)
        : await api.post(
            '/v1/identity-providers',
            { key: given.key.trim(), ...body },
            { ...options, idempotency_key: key },
          );
      on_done(done, `identity_providers.${provider ? 'update' : 'create'}`);
    });
    return undefined;
  };
  const plain = { form, autocomplete: 'off', spellcheck: 'false' };
  const check = (name) => html`<${Field} form=${form} name=${name} type="checkbox"
    label=${t(`identity.${name}`)} hint=${t(`identity.${name}_hint`)} />`;
  const shown_key = provider?.key ?? values.key.trim();
  return html`<${Dialog} title=${title} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${send}>
      <${Field} form=${form} name="display_name" label=${t('org_ui.name')} maxlength="100"
        dir="auto" autocomplete="off" autofocus hint=${t(`identity.name_hint.${scope}`)} />
      ${
        !provider &&
        html`<${Field} ...${plain} name="key" label=${t('identity.key')} maxlength="32"
          hint=${t('identity.key_hint')} />`
      }
      ${shown_key && html`<${Addresses} provider_key=${shown_key} />`}
      <${Field} ...${plain} name="issuer" type="url" label=${t('identity.issuer')}
        maxlength="1024" hint=${t('identity.issuer_hint')} />
      <${Field} ...${plain} name="client_id" label=${t('identity.client_id')} maxlength="1024" />
      <${Field} form=${form} name="client_secret" type="password" maxlength="4096"
        label=${t('identity.secret')} autocomplete="new-password"
        hint=${t(provider?.client_secret_set ? 'identity.secret_stays' : 'identity.secret_hint')} />
      <${Field} ...${plain} name="domains" rows="2" label=${t('identity.domains')}
        hint=${t(`identity.domains_hint.${scope}`)} />
      <${Field} ...${plain} name="scopes" label=${t('identity.scopes')} />
      ${
        scope === 'org' &&
        html`<${Field} ...${plain} name="groups_claim" maxlength="256"
          label=${t('identity.groups_claim')} hint=${t('identity.groups_hint')} />
        <${Field} ...${plain} name="role_map" rows="2" label=${t('identity.role_map')}
          hint=${t('identity.role_hint')} />`
      }
      ${check('create_users')}
      ${scope === 'platform' && html`${check('trust_email')}${check('has_second_factor')}`}
      ${scope === 'org' && check('is_required')}
      ${
        scope === 'org' &&
        values.is_required &&
        html`<p class="banner" role="status">${t('identity.required_text')}</p>`
      }
      ${check('is_active')}
      <div class="actions"><${Submit} form=${form}>${t(provider ? 'save' : 'org_ui.add')}<//></div>
    <//><//>`;
}
