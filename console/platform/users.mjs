// Finding users by name, address, state and what they are; one opens from here.
import { with_query } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed } from '../org/change.mjs';
import { set_query } from '../router.mjs';
import { Field, Form, Submit, useFormOf } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { Day, When } from '../ui/when.mjs';
import '../words/platform_people.mjs';

const states = ['', 'active', 'suspended', 'deleted'];
const look = { active: 'good', suspended: 'warn', deleted: '' };

export function UserState({ status }) {
  const t = useWords();
  return html`<span class=${`mark ${look[status]}`}>${t(`users.status.${status}`)}</span>`;
}

export function Users({ query }) {
  const t = useWords();
  const { q = '', status = '' } = query;
  const form = useFormOf({ q, status });
  const pages = usePages(with_query('/v1/admin/users', { q, status }));
  const columns = [
    {
      title: t('users.login'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<a href=${`#/platform/users/${one.id}`}><bdi>${one.login}</bdi></a>`,
    },
    { title: t('users.name'), is_wide: true, cell: (one) => html`<bdi>${one.username}</bdi>` },
    { title: t('users.email'), is_wide: true, cell: (one) => html`<bdi>${one.email}</bdi>` },
    { title: t('users.status'), cell: (one) => html`<${UserState} status=${one.status} />` },
    {
      title: t('users.last_login'),
      cell: (one) => html`<${When} at=${one.last_login_at} />`,
    },
    {
      title: t('users.since'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
  ];
  return html`<h1>${t('users.title')}</h1><${Changed} />
    <${Form} form=${form} label=${t('users.find')}
      on_submit=${(values) => set_query({ q: values.q.trim(), status: values.status })}>
      <div class="filters">
      <${Field} form=${form} name="q" type="search" label=${t('users.find_by')}
        maxlength="254" />
      <${Field} form=${form} name="status" label=${t('users.status')}
        options=${states.map((one) => [one, one ? t(`users.status.${one}`) : t('users.any')])} />
      <${Submit} form=${form} kind="">${t('users.find')}<//></div><//>
    <${Table} pages=${pages} columns=${columns} label=${t('users.title')} />`;
}
