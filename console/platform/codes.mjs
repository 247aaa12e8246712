// Invitation codes, redemption codes, and who brought whom, as a tree.
import { api, with_query } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { date, number, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { set_query } from '../router.mjs';
import { Copy } from '../ui/copy.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Field, Form, Submit, useForm, useFormOf } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_money.mjs';
import '../words/platform_people.mjs';
import '../words/platform_system.mjs';
import { begin_of, number_or_none, PanelForm } from './parts.mjs';

const invite_path = '/v1/admin/invite-codes';
const redeem_path = '/v1/admin/redemption-codes';

function NewCodes({ on_done }) {
  const t = useWords();
  const [made, set_made] = useState([]);
  const form = useForm({
    count: '1',
    type: 'credits',
    value: '',
    max_uses: '1',
    expires_at: '',
    batch_id: '',
  });
  return html`<${PanelForm} form=${form} title=${t('codes.make')} text=${t('codes.make_text')}
    on_submit=${async (values, key) => {
      const { body } = await api.post(
        `${redeem_path}/batch`,
        {
          ...values,
          count: number_or_none(values.count),
          max_uses: number_or_none(values.max_uses),
          expires_at: begin_of(values.expires_at) || null,
          batch_id: values.batch_id || null,
        },
        { idempotency_key: key },
      );
      set_made(body.map((one) => one.code));
      on_done('redemption_codes.create');
    }}>
    <${Field} form=${form} name="count" label=${t('codes.count')} inputmode="numeric" />
    <${Field} form=${form} name="type" label=${t('platform.kind')}
      options=${['credits', 'entitlement'].map((type) => [type, t(`codes.type.${type}`)])} />
    <${Field} form=${form} name="value" label=${t('settings.value')}
      hint=${t(`codes.hint.${form.values.type}`)} autocomplete="off" />
    <${Field} form=${form} name="max_uses" label=${t('codes.uses_max')} inputmode="numeric" />
    <${Field} form=${form} name="expires_at" type="date" label=${t('money.until')} />
    <${Field} form=${form} name="batch_id" label=${t('codes.batch')} maxlength="200"
      autocomplete="off" />
    <div class="actions"><${Submit} form=${form}>${t('codes.make')}<//></div>
    ${
      made.length > 0 &&
      html`<div role="status"><pre>${made.join('\n')}</pre>
        <${Copy} text=${made.join('\n')} what=${t('codes.redemption')} /></div>`
    }<//>`;
}

// Finds codes of both kinds that contain these letters.
function Find({ q }) {
  const t = useWords();
  const form = useFormOf({ q });
  return html`<${Form} form=${form} label=${t('codes.find')}
    on_submit=${(values) => set_query({ q: values.q.trim() })}>
    <div class="filters"><${Field} form=${form} name="q" type="search" label=${t('codes.find')}
        maxlength="254" /><${Submit} form=${form} kind="">${t('users.find')}<//></div><//>`;
}

// How often a code may be used.
function Uses({ code, change, on_changed, on_close }) {
  const t = useWords();
  const form = useForm({ max_uses: String(code.max_uses) });
  return html`<${Dialog} title=${code.code} on_close=${on_close}>
    <${Form} form=${form} label=${code.code} on_submit=${async ({ max_uses }) => {
      const { body } = await change(code.id, { max_uses: number_or_none(max_uses) ?? max_uses });
      on_changed(body);
    }}>
      <${Field} form=${form} name="max_uses" label=${t('codes.uses_most')} inputmode="numeric"
        autocomplete="off" autofocus />
      <div class="actions"><${Submit} form=${form}>${t('platform.change')}<//></div>
    <//><//>`;
}

// A list of codes that may be switched on and off by `change(id, body)`; `first` are the columns
// that differ. `has_uses`: how often one may be used is changed, too.
function Codes({ pages, change, title, action, first, on_done, has_uses = false }) {
  const t = useWords();
  const [opened, set_opened] = useState(null);
  const show = (code) => {
    pages.change((items) => items.map((item) => (item.id === code.id ? code : item)));
    on_done(action);
  };
  const turn = async (row) => {
    /** @type {any} */
    let answer = null;
    const is_done = await ask_and_do({
      work: async () => {
        answer = await change(row.id, { is_active: !row.is_active });
      },
    });
    if (is_done) show(answer.body);
  };
  const columns = [
    {
      title: t('credits.code'),
      is_title: true,
      is_time: true,
      cell: (row) => html`<code>${row.code}</code>`,
    },
    ...first,
    {
      title: t('codes.uses'),
      is_number: true,
      cell: (row) => `${number(row.use_count)} / ${number(row.max_uses)}`,
    },
    {
      title: t('users.status'),
      cell: (row) => html`<span class=${row.is_active ? 'mark good' : 'mark'}>
        ${t(row.is_active ? 'settings.on' : 'settings.off')}</span>`,
    },
    {
      title: '',
      cell: (row) => html`<span class="row-actions">${
        has_uses &&
        html`<button type="button" class="small" onClick=${() => set_opened(row)}
          aria-label=${`${t('platform.change')}: ${row.code}`}>${t('platform.change')}</button>`
      }<button type="button" class="small" onClick=${() => turn(row)}
        aria-label=${`${t(row.is_active ? 'flags.turn_off' : 'flags.turn_on')}: ${row.code}`}>
        ${t(row.is_active ? 'flags.turn_off' : 'flags.turn_on')}</button></span>`,
    },
  ];
  return html`<h2>${title}</h2><${Table} pages=${pages} columns=${columns} label=${title} />
    ${
      opened &&
      html`<${Uses} code=${opened} change=${change} on_close=${() => set_opened(null)}
        on_changed=${(code) => {
          set_opened(null);
          show(code);
        }} />`
    }`;
}

// One level of the tree; `nodes` are all of it, root first.
function Branch({ nodes, of }) {
  const below = nodes.filter((node) => node.inviter_id === of && node.depth > 0);
  if (!below.length) return null;
  return html`<ul class="tree">${below.map(
    (node) => html`<li key=${node.user_id}><a href=${`#/platform/users/${node.user_id}`}>
        <bdi>${node.login}</bdi></a> <span class="dim">${date(node.created_at)}</span>
      <${Branch} nodes=${nodes} of=${node.user_id} /></li>`,
  )}</ul>`;
}

export function Tree({ user_id }) {
  const t = useWords();
  const call = useCall(with_query('/v1/admin/referrals/tree', { user_id }));
  if (call.error) return html`<${ErrorBox} error=${call.error} on_retry=${call.reload} />`;
  const root = call.body?.[0];
  if (!root) return null;
  return html`<h2>${t('codes.tree', { login: root.login })}</h2>
    ${
      call.body.length > 1
        ? html`<${Branch} nodes=${call.body} of=${root.user_id} />`
        : html`<p class="empty">${t('codes.nobody')}</p>`
    }`;
}

function Referrals() {
  const t = useWords();
  const pages = usePages('/v1/admin/referrals');
  const user = (id, login) => html`<button type="button" class="link"
    onClick=${() => set_query({ user_id: id })}><bdi>${login}</bdi></button>`;
  const columns = [
    {
      title: t('codes.inviter'),
      is_title: true,
      cell: (row) => user(row.inviter_user_id, row.inviter_login),
    },
    { title: t('codes.invitee'), cell: (row) => user(row.invitee_user_id, row.invitee_login) },
    { title: t('codes.credited'), cell: (row) => t(row.credited ? 'yes' : 'users.no') },
    {
      title: t('users.since'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.created_at} />`,
    },
  ];
  return html`<h2>${t('codes.referrals')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('codes.referrals')} />`;
}

export function CodesScreen({ query }) {
  const t = useWords();
  const { q = '' } = query;
  const invites = usePages(with_query(invite_path, { q }));
  const redemptions = usePages(with_query(redeem_path, { q }));
  const owner = {
    title: t('users.login'),
    cell: (row) => html`<a href=${`#/platform/users/${row.user_id}`}>
      <bdi>${row.user_login}</bdi></a>`,
  };
  const gives = [
    { title: t('platform.kind'), cell: (row) => t(`codes.type.${row.type}`) },
    { title: t('settings.value'), is_wide: true, cell: (row) => html`<bdi>${row.value}</bdi>` },
    {
      title: t('money.until'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.expires_at} />`,
    },
    { title: t('codes.batch'), is_wide: true, cell: (row) => html`<bdi>${row.batch_id}</bdi>` },
  ];
  return html`<h1>${t('codes.title')}</h1><${Changed} />
    ${query.user_id && html`<${Tree} user_id=${query.user_id} key=${query.user_id} />`}
    <${Referrals} />
    <${NewCodes} on_done=${(action) => {
      redemptions.reload();
      show_change({ action });
    }} />
    <${Find} q=${q} />
    <${Codes} pages=${invites} title=${t('codes.invitation')} has_uses
      change=${(id, body) => api.patch(`${invite_path}/${id}`, body)}
      action="invite_codes.update" first=${[owner]}
      on_done=${(action) => show_change({ action })} />
    <${Codes} pages=${redemptions} title=${t('codes.redemption')}
      change=${(id, body) => api.patch(`${redeem_path}/${id}`, body)}
      action="redemption_codes.update" first=${gives}
      on_done=${(action) => show_change({ action })} />`;
}
