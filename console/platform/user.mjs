// Everything about one user: who it is, organizations with credits and plans, whom they brought,
// what may be changed, what was done to them and by them.
import { api, with_query } from '../api.mjs';
import { html } from '../html.mjs';
import { date, number, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { target_name } from '../org/target_name.mjs';
import { useNames } from '../org/who.mjs';
import { address, go } from '../router.mjs';
import { useStore } from '../store.mjs';
import { session } from '../session.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { changes_of, Field, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import { Day, When } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_money.mjs';
import '../words/platform_people.mjs';
import { Tree } from './codes.mjs';
import { PanelForm, whole_list } from './parts.mjs';
import { UserState } from './users.mjs';

function Facts({ user }) {
  const t = useWords();
  const facts = [
    ['users.login', html`<bdi>${user.login}</bdi>`],
    ['users.email', html`<bdi>${user.email}</bdi>`],
    ['users.email_verified', t(user.email_verified ? 'yes' : 'users.no')],
    ['users.locale', `${user.locale}, ${user.timezone}`],
    ['users.last_login', html`<${When} at=${user.last_login_at} none=${t('users.never')} />`],
    ['users.since', html`<${Day} at=${user.created_at} />`],
    ['users.id', html`<code>${user.id}</code>`],
  ];
  return html`<dl class="facts">${facts.map(
    ([key, value]) => html`<dt>${t(key)}</dt><dd>${value}</dd>`,
  )}</dl>`;
}

/** @param {{path: `/v1/admin/users/${string}`, [more: string]: any}} props */
function Change({ user, path, on_done }) {
  const t = useWords();
  const { username, email, email_verified, locale, timezone } = user;
  const first = { username, email, email_verified, locale, timezone };
  const form = useForm(first);
  return html`<${PanelForm} form=${form} title=${t('users.change')} on_submit=${async (values) => {
    const changes = changes_of(values, first);
    if (!changes) return;
    const { body } = await api.patch(path, changes);
    toast(t('saved'));
    on_done(body, 'users.update');
  }}>
    <${Field} form=${form} name="username" label=${t('users.name')} dir="auto" maxlength="200"
      autocomplete="off" />
    <${Field} form=${form} name="email" type="email" label=${t('users.email')}
      autocomplete="off" />
    <${Field} form=${form} name="email_verified" type="checkbox"
      label=${t('users.email_verified')} />
    <${Field} form=${form} name="locale" label=${t('account.locale')} maxlength="35"
      autocomplete="off" spellcheck="false" />
    <${Field} form=${form} name="timezone" label=${t('account.timezone')} maxlength="64"
      autocomplete="off" spellcheck="false" />
    <div class="actions"><${Submit} form=${form} kind="">${t('platform.change')}<//></div><//>`;
}

// Buttons that suspend and delete; each says first what it does.
/** @param {{path: `/v1/admin/users/${string}`, [more: string]: any}} props */
function End({ user, path, on_done }) {
  const t = useWords();
  const is_active = user.status === 'active';
  /** @type {'suspended' | 'active'} */
  const status = is_active ? 'suspended' : 'active';
  const words = is_active ? 'users.suspend' : 'users.activate';
  const set_status = async () => {
    let changed = null;
    const patch = async () => {
      changed = (await api.patch(path, { status })).body;
    };
    const question = { title: t(words), action: t(words), is_danger: is_active };
    const text = t(is_active ? 'users.suspend_text' : 'users.activate_text', { name: user.login });
    if (!(await ask_and_do({ ...question, text, work: patch }))) return;
    on_done(changed, is_active ? 'users.suspend' : 'users.activate');
  };
  const remove = async () => {
    const question = {
      title: t('users.delete'),
      action: t('users.delete'),
      text: t('users.delete_text', { name: user.login }),
      typed: user.login,
    };
    if (await ask_and_do({ ...question, work: () => api.del(path) })) on_done(null, 'users.delete');
  };
  const reset = async () => {
    const question = {
      title: t('users.reset_factors'),
      action: t('users.reset_factors'),
      text: t('users.reset_factors_text', { name: user.login }),
    };
    const work = () => api.del(`${path}/factors`);
    if (!(await ask_and_do({ ...question, work }))) return;
    toast(t('users.factors_reset'));
    on_done(user, 'factors.reset');
  };
  return html`<section class="panel"><h2>${t('users.access')}</h2>
    <p>${t(is_active ? 'users.suspend_text' : 'users.activate_text', { name: user.login })}</p>
    ${user.platform_admin && html`<p class="dim">${t('users.reset_of_admin')}</p>`}
    <div class="actions"><button type="button" onClick=${set_status}>${t(words)}</button>
      ${
        !user.platform_admin &&
        html`<button type="button" onClick=${reset}>${t('users.reset_factors')}</button>`
      }
      <button type="button" class="danger" onClick=${remove}>${t('users.delete')}</button></div>
  </section>`;
}

function Balance({ org_id }) {
  const { body } = useCall(with_query('/v1/admin/credits', { org_id, limit: 1 }));
  return body && html`${number(body.available)}`;
}

// Whether a plan gives the organization something, and how many values are overridden.
function Sources({ org_id }) {
  const t = useWords();
  const { body } = useCall(with_query('/v1/entitlements', { org_id }));
  if (!body) return null;
  const of_plan = body.filter((row) => row.source === 'plan');
  const overridden = body.filter((row) => row.source === 'override').length;
  const end = of_plan[0]?.expires_at;
  return html`${
    of_plan.length > 0
      ? html`<span class="mark good">${t('money.source.plan')}</span>${
          end && html` <span class="dim">${t('users.plan_until', { date: date(end) })}</span>`
        }`
      : html`<span class="dim">${t('users.no_plan')}</span>`
  }${
    overridden > 0 &&
    html` <span class="mark live">${t('users.overrides', { count: overridden })}</span>`
  }`;
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
      cell: (org) => html`<${Balance} org_id=${org.org_id} />`,
    },
    {
      title: t('money.plan'),
      is_wide: true,
      cell: (org) => html`<${Sources} org_id=${org.org_id} />`,
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

// Rows of the audit log that `query` finds, and the way to all of them.
function Log({ title, query }) {
  const t = useWords();
  const path = with_query('/v1/audit-logs', { ...query, limit: 10 });
  const pages = usePages(path, { pick: (body) => body.data });
  const names = useNames(pages.items.map((row) => row.actor_user_id));
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('credits.when'),
      is_title: true,
      is_time: true,
      cell: (row) => html`<${When} at=${row.created_at} />`,
    },
    { title: t('users.deed'), cell: (row) => html`<code>${row.action}</code>` },
    !query.actor_user_id && {
      title: t('users.by'),
      cell: (row) => html`<bdi>${names.get(row.actor_user_id) || t('change.somebody')}</bdi>`,
    },
    query.actor_user_id && {
      title: t('credits.about'),
      is_wide: true,
      cell: (row) => html`<bdi>${target_name(row, names, t)}</bdi>`,
    },
    { title: t('users.result'), cell: (row) => t(`users.result.${row.result}`) },
    { title: t('users.address'), cell: (row) => html`<bdi>${row.client_ip}</bdi>` },
  ];
  return html`<div class="head"><h2>${title}</h2><a href=${address('/audit', {
    ...query,
    scope: 'platform',
  })}>${t('users.all_rows')}</a></div>
    <${Table} pages=${{ ...pages, has_more: false }} columns=${columns} label=${title} />`;
}

export function User({ params }) {
  const t = useWords();
  const { me } = useStore(session);
  const path = /** @type {`/v1/admin/users/${string}`} */ (
    `/v1/admin/users/${encodeURIComponent(params.user_id)}`
  );
  const call = useCall(path);
  if (call.error) return html`<${ErrorBox} error=${call.error} on_retry=${call.reload} />`;
  const user = call.body;
  if (!user) return html`<p class="dim working">${t('loading')}</p>`;
  const done = (changed, action) => {
    if (changed) call.set(changed);
    else go('/platform/users');
    show_change({ action, target_id: user.id });
  };
  const is_other = user.id !== me.id && user.status !== 'deleted';
  return html`<div class="head"><h1><bdi>${user.username}</bdi></h1>
      <${UserState} status=${user.status} />
      ${user.platform_admin && html`<span class="mark live">${t('users.admin')}</span>`}</div>
    <${Changed} /><${Facts} user=${user} />
    <${Orgs} user=${user} />
    <${Tree} user_id=${user.id} />
    <div class="panels">${
      user.status !== 'deleted' &&
      html`<${Change} user=${user} path=${path} on_done=${done} key=${JSON.stringify(user)} />`
    }
    ${is_other && html`<${End} user=${user} path=${path} on_done=${done} />`}</div>
    <${Log} title=${t('users.done_to')} query=${{ target_type: 'user', target_id: user.id }} />
    <${Log} title=${t('users.deeds')} query=${{ actor_user_id: user.id }} />`;
}
