// The audit log: who did what, from where, and what it was before and after. Filters stand in the
// address. `?scope=platform`: the rows of all organizations, and those that belong to none.
import { api, with_query } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go, place } from '../router.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { Copy } from '../ui/copy.mjs';
import { CsvButton } from '../ui/csv_button.mjs';
import { Field, Form, useFormOf } from '../ui/form.mjs';
import { PageEnd, usePages } from '../ui/list.mjs';
import { Picker } from '../ui/picker.mjs';
import { Exact, When } from '../ui/when.mjs';
import '../words/org_audit.mjs';
import { Differences } from './diff.mjs';
import { ScopeTabs, scope_of, scope_query } from './scope.mjs';
import { target_name } from './target_name.mjs';
import { has_list, place_of, read_things, useThings } from './things.mjs';
import { useNames } from './who.mjs';

const known_actions = [
  'api_keys.create',
  'auth.login',
  'credits.adjust',
  'entitlements.override_set',
  'feature_flags.update',
  'invitations.create',
  'llm_models.update',
  'llm_providers.update',
  'mcp_servers.update',
  'orgs.member_role',
  'personas.update',
  'settings.set',
  'tools.update',
  'users.suspend',
  'users.update',
  'webhooks.update',
];
// The types of targets that the log has (audit() in sql/schema).
const target_types = [
  'user',
  'member',
  'session',
  'factor',
  'invitation',
  'org',
  'api_key',
  'persona',
  'llm_provider',
  'llm_model',
  'tool',
  'tool_provider',
  'mcp_server',
  'webhook_endpoint',
  'webhook_delivery',
  'ip_rule',
  'budget',
  'thread',
  'run',
  'plan',
  'subscription',
  'entitlement_override',
  'feature_flag',
  'invite_code',
  'redemption_code',
  'setting',
  'email_config',
  'gateway_config',
];
const filters = ['action', 'target_type', 'target_id', 'actor_user_id', 'since', 'until'];

// The moment that a date field means: the begin of the first day, the end of the last one. Text
// that is no day comes from a hand-written address. It goes to the service, which refuses it.
function moment_of(day = '', days_later = 0) {
  const moment = new Date(`${day}T00:00:00`);
  moment.setDate(moment.getDate() + days_later);
  return Number.isNaN(moment.getTime()) ? day : moment.toISOString();
}

// Users by a part of their name, for platform administrators: [id, name].
async function find_users(text) {
  const { body } = await api.get('/v1/admin/users', { query: { q: text, limit: 20 } });
  return body.map((one) => [one.id, `${one.username} (${one.login})`]);
}

// Actions that the console knows by name come first.
function actions_of(rows, t) {
  const actions = new Map(known_actions.map((action) => [action, t(`done.${action}`)]));
  for (const { action } of rows) if (!actions.has(action)) actions.set(action, '');
  return actions;
}

// The target's name: of the things of the chosen type, and of the rows in sight.
function TargetField({ form, rows, names, scope }) {
  const t = useWords();
  const { target_type } = form.values;
  const [things, set_things] = useState([]);
  const read = () =>
    void read_things(target_type, scope).then(set_things, () => set_things([]));
  useEffect(() => set_things([]), [target_type, scope]);
  const named = rows
    .filter((row) => row.target_id && (!target_type || row.target_type === target_type))
    .map((row) => [row.target_id, target_name(row, names, t)]);
  return html`<${Picker} form=${form} name="target_id" label=${t('audit.target_id')}
    any=${t('audit.anything')} options=${[...named, ...things]} on_open=${read}
    on_search=${target_type === 'user' && scope === 'platform' ? find_users : undefined} />`;
}

function ActorField({ form, members, rows, names, scope }) {
  const t = useWords();
  const acted = rows
    .filter((row) => row.actor_user_id && names.get(row.actor_user_id))
    .map((row) => [row.actor_user_id, names.get(row.actor_user_id)]);
  if (scope === 'platform') {
    return html`<${Picker} form=${form} name="actor_user_id" label=${t('audit.actor')}
      any=${t('audit.anybody')} options=${acted} on_search=${find_users} />`;
  }
  return (
    members.length > 1 &&
    html`<${Field} form=${form} name="actor_user_id" label=${t('audit.actor')} options=${[
      ['', t('audit.anybody')],
      ...members.map((one) => [one.user_id, one.username]),
    ]} />`
  );
}

function Filters({ query, members, rows, names }) {
  const t = useWords();
  const form = useFormOf(Object.fromEntries(filters.map((name) => [name, query[name] ?? ''])));
  const scope = scope_of(query);
  const asked = scope_query(scope);
  const apply = () => go(place.get().path, { ...form.values, ...asked }, { replace: true });
  const types = [...new Set([...target_types, form.values.target_type])].filter(Boolean);
  return html`<${Form} form=${form} label=${t('audit.filters')} on_submit=${apply}>
    <datalist id="audit-action">${[...actions_of(rows, t)].map(
      ([value, name]) => html`<option key=${value} value=${value} label=${name}></option>`,
    )}</datalist>
    <div class="filters">
      <${Field} form=${form} name="action" list="audit-action" label=${t('audit.action')}
        spellcheck="false" autocomplete="off" placeholder="personas.update" />
      <${Field} form=${form} name="target_type" label=${t('audit.target')} options=${[
        ['', t('audit.anything')],
        ...types.map((type) => [type, t(`audit.type.${type}`).replace('audit.type.', '')]),
      ]} on_change=${() => form.set('target_id', '')} />
      <${TargetField} form=${form} rows=${rows} names=${names} scope=${scope} />
      <${ActorField} form=${form} members=${members} rows=${rows} names=${names}
        scope=${scope} />
      <${Field} form=${form} name="since" type="date" label=${t('audit.since')} />
      <${Field} form=${form} name="until" type="date" label=${t('audit.until')} />
      <button class="main">${t('audit.apply')}</button>
      <a href=${address(place.get().path, asked)} onClick=${() => form.reset(
        Object.fromEntries(filters.map((name) => [name, ''])),
      )}>${t('audit.all')}</a>
    </div>
  <//>`;
}

const result_marks = { ok: 'good', denied: 'warn', failed: 'bad' };

// A name, and the id for those who need it.
const named = (name, id) =>
  id &&
  html`<bdi>${name || id}</bdi>${
    name && name !== id && html` <code class="dim">${id}</code>`
  }`;

function Details({ row, actor, target, names }) {
  const t = useWords();
  const place = place_of(row);
  const facts = [
    [t('audit.when'), html`<${Exact} at=${row.created_at} />`],
    [
      t('audit.target_id'),
      place
        ? html`<a href=${address(place)}><bdi>${target}</bdi></a>
          <code class="dim">${row.target_id}</code>`
        : named(target, row.target_id),
    ],
    [t('audit.actor'), named(actor, row.actor_user_id)],
    [t('audit.key'), named(names.get(row.actor_api_key_id), row.actor_api_key_id)],
    [t('audit.address'), row.client_ip],
    [t('audit.agent'), row.user_agent && html`<bdi>${row.user_agent}</bdi>`],
    [t('audit.org'), named(names.get(row.org_id), row.org_id)],
  ].filter(([, value]) => value);
  return html`<div class="audit-details"><dl class="facts">${facts.map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`,
  )}${
    row.trace_id &&
    html`<dt>${t('error.trace')}</dt><dd><code>${row.trace_id}</code>
      <${Copy} text=${row.trace_id} what=${t('error.trace')} /></dd>`
  }</dl>
    ${
      (row.before_state || row.after_state) &&
      html`<h3>${t('audit.change')}</h3><${Differences} before=${row.before_state}
        after=${row.after_state} />`
    }</div>`;
}

function Row({ row, actor, target, names }) {
  const t = useWords();
  const [is_open, set_open] = useState(false);
  return html`<li><details onToggle=${(event) => set_open(event.currentTarget.open)}>
    <summary><span class="when"><${When} at=${row.created_at} /></span>
      <span class="what"><code>${row.action}</code>${
        target && html` <bdi class="target">${target}</bdi>`
      }</span>
      <span class="who-did"><bdi>${actor}</bdi></span>
      <span class=${`mark ${result_marks[row.result] ?? ''}`}>${t(`audit.result.${row.result}`)}${
        row.count > 1 ? ` × ${row.count}` : ''
      }</span></summary>
    ${
      is_open &&
      html`<${Details} row=${row} actor=${actor} target=${target} names=${names} />`
    }
  </details></li>`;
}

/** @param {{params?: any, query?: any}} props */
export function Audit({ query = {} }) {
  const t = useWords();
  const { me } = useStore(session);
  const scope = scope_of(query);
  const members = usePages(
    scope === 'org' ? with_query(`/v1/orgs/${me.org_id}/members`, { limit: 200 }) : null,
  );
  // Everybody may be chosen, not only who stands on the first page.
  useEffect(() => void members.more(), [members.items.length]);
  const asked = {
    // Platform administrators see the rows of all unless they name one.
    org_id: scope === 'org' && me.platform_admin ? me.org_id : '',
    ...Object.fromEntries(filters.map((name) => [name, query[name]])),
    since: moment_of(query.since),
    until: moment_of(query.until, 1),
  };
  const pages = usePages(with_query('/v1/audit-logs', asked), { pick: (body) => body.data });
  const names = new Map(members.items.map((one) => [one.user_id, one.username]));
  const users = pages.items.filter((row) => row.target_type === 'user').map((row) => row.target_id);
  const ids = pages.items.map((row) => row.actor_user_id).concat(users);
  const others = useNames(ids.filter((id) => !names.has(id)));
  // Lists of things name the targets that the rows do not name.
  const nameless = pages.items.filter(
    (row) => row.target_id && has_list(row.target_type) && !row.after_state && !row.before_state,
  );
  const by_key = pages.items.some((row) => row.actor_api_key_id) ? ['api_key'] : [];
  const things = useThings([...nameless.map((row) => row.target_type), ...by_key], scope);
  const all_names = new Map([
    ...things,
    ...session.get().orgs.map((org) => /** @type {const} */ ([org.id, org.name])),
    ...others,
    ...names,
  ]);
  const name_of = (id) => names.get(id) || others.get(id) || t('audit.no_member');
  const actor_of = (row) => {
    const name = row.actor_user_id ? name_of(row.actor_user_id) : t('audit.system');
    return row.actor_api_key_id ? t('audit.by_key', { name }) : name;
  };
  // The columns of the file that is saved. The screen shows the rows as a list.
  const columns = [
    { title: t('audit.when'), cell: (row) => html`<${When} at=${row.created_at} />` },
    { title: t('audit.action'), cell: (row) => row.action },
    { title: t('audit.target'), cell: (row) => row.target_type },
    { title: t('audit.target_id'), cell: (row) => target_name(row, all_names, t) },
    { title: t('audit.actor'), cell: actor_of },
    { title: t('audit.result'), cell: (row) => t(`audit.result.${row.result}`) },
    { title: t('audit.address'), cell: (row) => row.client_ip },
    { title: t('error.trace'), cell: (row) => row.trace_id },
  ];
  return html`<div class="head"><h1>${t('audit.title')}</h1><${ScopeTabs} scope=${scope} /></div>
    <${Filters} query=${query} members=${members.items} rows=${pages.items}
      names=${all_names} />
    <ul class="audit">${pages.items.map(
      (row) => html`<${Row} row=${row} actor=${actor_of(row)} key=${row.id}
        target=${target_name(row, all_names, t)} names=${all_names} />`,
    )}</ul>
    ${
      pages.items.length > 0 &&
      html`<${CsvButton} name=${t('audit.title')} make=${(part) => part.csv_of(pages, columns)} />`
    }
    <${PageEnd} pages=${pages} />`;
}
