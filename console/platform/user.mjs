// Everything about one user: who it is, what may be changed, organizations with credits, whom they
// brought, what they did.
import { api, with_query } from '../api.mjs';
import { html } from '../html.mjs';
import { number, time, useWords } from '../i18n.mjs';
import { address, go } from '../router.mjs';
import { useStore } from '../store.mjs';
import { session } from '../session.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import { act, PanelForm, useRecorded, whole_list } from './parts.mjs';
import { UserState } from './users.mjs';

function Facts({ user }) {
  const t = useWords();
  const facts = [
    ['users.login', html`<bdi>${user.login}</bdi>`],
    ['users.email', html`<bdi>${user.email}</bdi>`],
    ['users.email_verified', t(user.email_verified ? 'yes' : 'users.no')],
    ['users.locale', `${user.locale}, ${user.timezone}`],
    ['users.last_login', time(user.last_login_at) || t('users.never')],
    ['users.since', time(user.created_at)],
    ['users.id', html`<code>${user.id}</code>`],
  ];
  return html`<dl class="facts">${facts.map(
    ([key, value]) => html`<dt>${t(key)}</dt><dd>${value}</dd>`,
  )}</dl>`;
}

function Change({ user, path, on_done }) {
  const t = useWords();
  const first = { username: user.username, email: user.email, email_verified: user.email_verified };
  const form = useForm(first);
  return html`<${PanelForm} form=${form} title=${t('users.change')} on_submit=${async (values) => {
    const changes = Object.entries(values).filter(([name, value]) => value !== first[name]);
    if (!changes.length) return;
    const { body } = await api.patch(path, Object.fromEntries(changes));
    toast(t('saved'));
    on_done(body, 'users.update');
  }}>
    <${Field} form=${form} name="username" label=${t('users.name')} dir="auto" maxlength="200"
      autocomplete="off" />
    <${Field} form=${form} name="email" type="email" label=${t('users.email')}
      autocomplete="off" />
    <${Field} form=${form} name="email_verified" type="checkbox"
      label=${t('users.email_verified')} />
    <div class="actions"><${Submit} form=${form} kind="">${t('platform.change')}<//></div><//>`;
}

// What suspends and deletes; says before what it does.
function End({ user, path, on_done }) {
  const t = useWords();
  const is_active = user.status === 'active';
  const status = is_active ? 'suspended' : 'active';
  const words = is_active ? 'users.suspend' : 'users.activate';
  const set_status = async () => {
    let answer;
    const patch = async () => {
      answer = await api.patch(path, { status });
    };
    const question = { title: t(words), action: t(words), is_danger: is_active };
    const text = t(is_active ? 'users.suspend_text' : 'users.activate_text', { name: user.login });
    if (!(await act(patch, { ...question, text }))) return;
    on_done(answer.body, is_active ? 'users.suspend' : 'users.activate');
  };
  const remove = async () => {
    const question = {
      title: t('users.delete'),
      action: t('users.delete'),
      text: t('users.delete_text', { name: user.login }),
      typed: user.login,
    };
    if (await act(() => api.del(path), question)) on_done(null, 'users.delete');
  };
  return html`<section class="panel"><h2>${t('users.access')}</h2>
    <p>${t(is_active ? 'users.suspend_text' : 'users.activate_text', { name: user.login })}</p>
    <div class="actions"><button type="button" onClick=${set_status}>${t(words)}</button>
      <button type="button" class="danger" onClick=${remove}>${t('users.delete')}</button></div>
  </section>`;
}

function OrgBalance({ org_id }) {
  const { body } = useCall(with_query('/v1/admin/credits', { org_id, limit: 1 }));
  return body && html`${number(body.available)}`;
}

function Orgs({ user }) {
  const t = useWords();
  const columns = [
    {
      title: t('org'),
      is_title: true,
      is_wide: true,
      cell: (org) => html`<bdi>${org.name}</bdi>`,
    },
    { title: t('members.role'), cell: (org) => t(`role.${org.role}`) },
    {
      title: t('credits.available'),
      is_number: true,
      cell: (org) => html`<${OrgBalance} org_id=${org.org_id} />`,
    },
    {
      title: t('users.more'),
      cell: ({ org_id }) => html`<a href=${address('/platform/credits', { org_id })}>
          ${t('credits.title')}</a> · <a href=${address('/platform/entitlements', { org_id })}>
          ${t('users.limits')}</a>`,
    },
  ];
  return html`<h2>${t('users.orgs')}</h2><${Table} pages=${whole_list({}, user.orgs)}
    columns=${columns} label=${t('users.orgs')} key_of=${(org) => org.org_id} />`;
}

function Deeds({ user_id }) {
  const t = useWords();
  const filter = { actor_user_id: user_id, limit: 20 };
  const pages = usePages(with_query('/v1/audit-logs', filter), { pick: (body) => body.data });
  const columns = [
    {
      title: t('credits.when'),
      is_title: true,
      is_time: true,
      cell: (row) => time(row.created_at),
    },
    { title: t('users.deed'), cell: (row) => html`<code>${row.action}</code>` },
    {
      title: t('credits.about'),
      is_wide: true,
      cell: (row) => html`<bdi>${row.target_id}</bdi>`,
    },
    { title: t('users.result'), cell: (row) => t(`users.result.${row.result}`) },
    { title: t('users.address'), cell: (row) => html`<bdi>${row.client_ip}</bdi>` },
  ];
  return html`<h2>${t('users.deeds')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('users.deeds')} />`;
}

export function User({ params }) {
  const t = useWords();
  const { me } = useStore(session);
  const path = `/v1/admin/users/${encodeURIComponent(params.user_id)}`;
  const call = useCall(path);
  const recorded = useRecorded();
  if (call.error) return html`<${ErrorBox} error=${call.error} on_retry=${call.reload} />`;
  const user = call.body;
  if (!user) return html`<p class="dim working">${t('loading')}</p>`;
  const done = (changed, action) => {
    recorded.done(action);
    if (changed) call.set(changed);
    else go('/platform/users');
  };
  const is_other = user.id !== me.id && user.status !== 'deleted';
  return html`<div class="head"><h1><bdi>${user.username}</bdi></h1>
      <${UserState} status=${user.status} />
      ${user.platform_admin && html`<span class="mark live">${t('users.admin')}</span>`}</div>
    ${recorded.view}<${Facts} user=${user} />
    <${Orgs} user=${user} />
    <p><a href=${address('/platform/codes', { user_id: user.id })}>${t('users.brought')}</a></p>
    <div class="panels">${
      user.status !== 'deleted' &&
      html`<${Change} user=${user} path=${path} on_done=${done} key=${JSON.stringify(user)} />`
    }
    ${is_other && html`<${End} user=${user} path=${path} on_done=${done} />`}</div>
    <${Deeds} user_id=${user.id} />`;
}
