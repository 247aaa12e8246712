// Two-step verification of the user's account: its second factors and recovery codes. The same
// screen is all that a user sees who has to add the first factor before anything else works.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { reload_session, session, switch_org } from '../session.mjs';
import { kept_setting } from '../settings.mjs';
import { useStore } from '../store.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { ask } from '../ui/dialog.mjs';
import { toast, toast_error } from '../ui/error.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { has_passkeys } from '../ui/passkey.mjs';
import { Day, When } from '../ui/when.mjs';
import '../words/factors.mjs';
import { NewApp, NewPasskey } from './new_factor.mjs';
import { CodesOnce, RecoveryCodes } from './recovery_codes.mjs';
import { sign_out_here } from './sign_out.mjs';
import { Unproved } from './unproved.mjs';

const factors_max = 10; // of an account (docs/contract-accounts.md, section 2.6)
const dialogs = { totp: NewApp, passkey: NewPasskey };

/**
 * @param {{pages: ReturnType<typeof usePages<'/v1/me/factors'>>,
 *   on_remove: (one: any) => void}} props
 */
function List({ pages, on_remove }) {
  const t = useWords();
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('factors.name'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.name}</bdi>`,
    },
    { title: t('factors.type'), cell: (one) => t(`factors.type.${one.type}`) },
    {
      title: t('factors.since'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
    {
      title: t('factors.used'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.last_used_at} none=${t('factors.never')} />`,
    },
    {
      title: '',
      cell: (one) => html`<button type="button" class="small danger"
        aria-label=${`${t('factors.remove')}: ${one.name}`}
        onClick=${() => on_remove(one)}>${t('factors.remove')}</button>`,
    },
  ];
  return html`<${Table} pages=${pages} columns=${columns} label=${t('factors.title')}
    empty=${t('factors.none')} />`;
}

// `on_done()`: after the user has seen that the first factor is there.
function OwnFactors({ on_done }) {
  const t = useWords();
  const { me, orgs, needs_factor } = useStore(session);
  const pages = usePages('/v1/me/factors');
  const [adding, set_adding] = useState('');
  const [codes, set_codes] = useState([]);
  const is_first = pages.items.length === 0;
  const is_required = needs_factor || orgs.some((org) => org.require_factor);
  const may_add = me.email_verified && pages.items.length < factors_max && !pages.is_loading;
  const remove = async (one) => {
    const is_last = pages.items.length === 1;
    const question = {
      title: t('factors.remove'),
      text: t(is_last ? 'factors.remove_last' : 'factors.remove_text', { name: one.name }),
      action: t('factors.remove'),
    };
    if (!(await ask(question))) return;
    try {
      await with_fresh_login(() => api.del(`/v1/me/factors/${one.id}`));
      toast(t('factors.removed', { name: one.name }));
      await pages.reload();
      if (is_last) await reload_session();
    } catch (error) {
      toast_error(error);
    }
  };
  const added = (given) => {
    set_adding('');
    set_codes(given);
    pages.reload();
    toast(t('factors.added'));
    if (given.length === 0) on_done();
  };
  const kept = () => {
    set_codes([]);
    on_done();
  };
  const Adding = dialogs[adding];
  return html`<div class="actions">
      <button type="button" class=${is_first ? 'main' : ''} disabled=${!may_add}
        onClick=${() => set_adding('totp')}>${t('factors.add_totp')}</button>
      ${
        has_passkeys() &&
        html`<button type="button" disabled=${!may_add}
          onClick=${() => set_adding('passkey')}>${t('factors.add_passkey')}</button>`
      }</div>
    ${!me.email_verified && html`<p class="dim">${t('factors.verify_first')}</p>`}
    ${pages.items.length >= factors_max && html`<p class="dim">${t('factors.enough')}</p>`}
    <${List} pages=${pages} on_remove=${remove} />
    ${!is_first && html`<${RecoveryCodes} on_made=${set_codes} />`}
    ${
      Adding &&
      html`<${Adding} is_first=${is_first} needs_code=${is_first && is_required}
        on_added=${added} on_close=${() => set_adding('')} />`
    }
    ${codes.length > 0 && html`<${CodesOnce} codes=${codes} on_close=${kept} />`}`;
}

export function Factors() {
  const t = useWords();
  return html`<h1>${t('factors.title')}</h1><p>${t('factors.about')}</p>
    <${OwnFactors} on_done=${() => {}} />`;
}

// In place of every screen while a factor is required and missing.
export function FactorFirst() {
  const t = useWords();
  const { me } = useStore(session);
  const is_elsewhere = Boolean(kept_setting('org'));
  return html`${!me.email_verified && html`<${Unproved} />`}
    <h1>${t('factors.first_title')}</h1>
    <p>${t('factors.first_required', { org: me.org_name })}</p><p>${t('factors.about')}</p>
    <${OwnFactors} on_done=${reload_session} />
    <div class="actions">${
      is_elsewhere &&
      html`<button type="button" onClick=${() => switch_org('')}>${t('org.own')}</button>`
    }<button type="button" onClick=${sign_out_here}>${t('sign_out')}</button></div>`;
}
