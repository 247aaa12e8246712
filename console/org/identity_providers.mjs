// Identity providers (OpenID Connect) with which people sign in: the organization's, or
// (`?scope=platform`) those of the platform with the mail domains that it granted.
import { api, with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { reload_session, session } from '../session.mjs';
import { Copy } from '../ui/copy.mjs';
import { Adder, PageEnd, usePages } from '../ui/list.mjs';
import '../words/identity_providers.mjs';
import { Changed, show_change } from './change.mjs';
import { callback_of, IdentityForm, logout_of } from './identity_form.mjs';
import { OrgDomains, OrgMarks } from './org_domains.mjs';
import { ask_and_do } from './parts.mjs';
import { History, ScopeTabs, scope_of } from './scope.mjs';

/** @typedef {import('../types/calls').Schemas['IdentityProvider']} IdentityProvider */

/** @param {{one: IdentityProvider}} props */
function Marks({ one }) {
  const t = useWords();
  const marks = [
    [!one.is_active, 'warn', 'org_ui.inactive'],
    [one.is_required && one.is_active, 'live', 'identity.mark.required'],
    [one.create_users, '', 'identity.mark.create_users'],
    [one.trust_email, '', 'identity.mark.trust_email'],
    [one.has_second_factor, '', 'identity.mark.has_second_factor'],
  ];
  return html`${marks
    .filter(([is_so]) => is_so)
    .map(([, kind, key]) => html` <span class=${`mark ${kind}`} key=${key}>${t(key)}</span>`)}`;
}

/** @param {{one: IdentityProvider}} props */
function Facts({ one }) {
  const t = useWords();
  const copied = (title, text) => html`<code>${text}</code> <${Copy} text=${text} what=${title} />`;
  const roles = Object.entries(one.role_map);
  const facts = [
    ['identity.issuer', html`<bdi>${one.issuer}</bdi>`],
    ['identity.client_id', html`<bdi>${one.client_id}</bdi>`],
    ['identity.secret', t(one.client_secret_set ? 'identity.secret_set' : 'identity.public')],
    ['identity.callback', copied(t('identity.callback'), callback_of(one.key))],
    ['identity.logout', copied(t('identity.logout'), logout_of(one.key))],
    [
      'identity.domains',
      one.domains.join(', ') ||
        t(one.scope === 'platform' ? 'identity.any_domain' : 'identity.no_domain'),
    ],
    ['identity.scopes', html`<bdi>${one.scopes.join(' ')}</bdi>`],
    ['identity.groups_claim', one.groups_claim && html`<bdi>${one.groups_claim}</bdi>`],
    [
      'identity.role_map',
      roles.length > 0 &&
        html`<ul class="roles">${roles.map(
          ([group, role]) => html`<li key=${group}><bdi>${group}</bdi>: ${t(`role.${role}`)}</li>`,
        )}</ul>`,
    ],
    ['account.id', copied(t('account.id'), one.id)],
  ];
  return html`<dl class="facts">${facts
    .filter(([, value]) => value)
    .map(([key, value]) => html`<dt>${t(key)}</dt><dd>${value}</dd>`)}</dl>`;
}

/** @param {{one: IdentityProvider, [more: string]: any}} props */
export function Provider({ one, on_edit, on_remove }) {
  const t = useWords();
  const edit = t('org_ui.edit');
  return html`<section class="panel wide" aria-label=${one.display_name}><div class="head">
      <h2><bdi>${one.display_name}</bdi></h2><code>${one.key}</code><${Marks} one=${one} />
      <span class="space"></span>
      <${History} target_type="identity_provider" target_id=${one.id} scope=${one.scope} />
      <span class="row-actions"><button type="button" class="small" onClick=${() => on_edit(one)}
          aria-label=${`${edit}: ${one.display_name}`}>${edit}</button>
        <button type="button" class="small danger" onClick=${() => on_remove(one)}
          aria-label=${`${t('delete')}: ${one.display_name}`}>${t('delete')}</button></span></div>
    <${Facts} one=${one} /></section>`;
}

// Asks, and deletes the provider; gives whether it is gone.
export const remove_provider = (one, t, headers = undefined) =>
  ask_and_do({
    title: `${t('delete')}: ${one.display_name}`,
    text: t('identity.remove_text'),
    action: t('delete'),
    typed: one.key,
    work: () =>
      api.del(`/v1/identity-providers/${one.id}`, undefined, {
        query: { scope: one.scope },
        headers,
      }),
  });

export function IdentityProviders({ query = /** @type {any} */ ({}) }) {
  const t = useWords();
  const scope = scope_of(query);
  const pages = usePages(with_query('/v1/identity-providers', { scope }));
  const [opened, set_opened] = useState(/** @type {IdentityProvider | 'new' | null} */ (null));
  const make = () => set_opened('new');
  useCommands([
    { id: 'new identity provider', keys: 'n', label: () => t('identity.new'), run: make },
  ]);
  const done = async (saved, action) => {
    set_opened(null);
    pages.reload();
    // This session may be one that the organization does not admit any more.
    if (saved.is_required) await reload_session();
    if (session.get().state === 'in') await show_change({ action, target_id: saved.id });
  };
  const remove = async (one) => {
    if (!(await remove_provider(one, t))) return;
    pages.reload();
    await show_change({ action: 'identity_providers.delete', target_id: one.id });
  };
  return html`<div class="head"><h1>${t('identity.title')}</h1><${ScopeTabs} scope=${scope} />
      <span class="space"></span>
      <${Adder} pages=${pages} on_click=${make}>${t('identity.new')}<//></div>
    <${Changed} />
    <p class="dim">${t(`identity.about.${scope}`)}</p>
    ${pages.items.map(
      (one) => html`<${Provider} one=${one} key=${one.id} on_edit=${set_opened}
      on_remove=${remove} />`,
    )}
    <${PageEnd} pages=${pages} empty=${{
      text: t('identity.empty'),
      action: t('identity.new'),
      on_action: make,
    }} />
    <${OrgDomains} scope=${scope} key=${`domains ${scope}`} />
    ${scope === 'platform' && html`<${OrgMarks} />`}
    ${
      opened &&
      html`<${IdentityForm} provider=${opened === 'new' ? null : opened} scope=${scope}
        on_done=${done} on_close=${() => set_opened(null)} />`
    }`;
}
