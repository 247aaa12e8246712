// Entitlements of an organization: each value with its source, what is used, and what comes next.
// Its overrides and its subscription.
import { api, with_query } from '../api.mjs';
import { html } from '../html.mjs';
import { date, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { limit_columns, limit_value, Value } from '../org/limits.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { useNames } from '../org/who.mjs';
import { address } from '../router.mjs';
import { session } from '../session.mjs';
import { Field, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/platform_money.mjs';
import '../words/platform_system.mjs';
import { OrgChoice } from './credits.mjs';
import { begin_of, PanelForm, whole_list } from './parts.mjs';

const value_types = ['integer', 'boolean', 'string'];

function Override({ org_id, rows, on_done }) {
  const t = useWords();
  const form = useForm({ key: '', value: '', value_type: 'integer', reason: '', expires_at: '' });
  return html`<${PanelForm} form=${form} title=${t('money.override')}
    text=${t('money.override_text')}
    on_submit=${async (values, key) => {
      const { reason, expires_at } = values;
      const until = begin_of(expires_at) || null;
      await api.post(
        '/v1/entitlement-overrides',
        {
          ...values,
          value: limit_value(values.key, values.value),
          org_id,
          reason: reason || null,
          expires_at: until,
        },
        { idempotency_key: key },
      );
      form.reset();
      on_done('entitlements.override_set');
    }}>
    <${Field} form=${form} name="key" label=${t('money.key')} maxlength="128" spellcheck=${false}
      autocomplete="off" list="entitlement-keys" on_change=${(key) => {
        const known = rows.find((row) => row.key === key);
        if (known) form.set('value_type', known.value_type);
      }} />
    <datalist id="entitlement-keys">${rows.map(
      (row) => html`<option value=${row.key} key=${row.key}></option>`,
    )}</datalist>
    <${Field} form=${form} name="value" label=${t('settings.value')} maxlength="1000"
      autocomplete="off" />
    <${Field} form=${form} name="value_type" label=${t('money.type')}
      options=${value_types.map((type) => [type, t(`money.type.${type}`)])} />
    <${Field} form=${form} name="reason" label=${t('money.reason')} maxlength="1000" dir="auto"
      autocomplete="off" />
    <${Field} form=${form} name="expires_at" type="date" label=${t('money.until')} />
    <div class="actions"><${Submit} form=${form}>${t('money.override')}<//></div><//>`;
}

function Overrides({ pages, on_done }) {
  const t = useWords();
  const names = useNames(pages.items.map((row) => row.created_by_user_id));
  const remove = async (row) => {
    const question = {
      title: t('money.override_end'),
      action: t('money.override_end'),
      text: t('money.override_end_text', { key: row.key }),
    };
    const work = () => api.del(`/v1/entitlement-overrides/${row.id}`);
    const done = await ask_and_do({ ...question, work });
    if (done) on_done('entitlements.override_deleted');
  };
  const columns = [
    {
      title: t('money.key'),
      is_title: true,
      is_wide: true,
      cell: (row) => html`<code>${row.key}</code>`,
    },
    { title: t('settings.value'), is_wide: true, cell: (row) => html`<${Value} one=${row} />` },
    { title: t('money.reason'), is_wide: true, cell: (row) => html`<bdi>${row.reason}</bdi>` },
    {
      title: t('money.by'),
      cell: (row) =>
        row.created_by_user_id &&
        html`<a href=${address(`/platform/users/${row.created_by_user_id}`)}><bdi>${
          names.get(row.created_by_user_id) || t('change.somebody')
        }</bdi></a>`,
    },
    {
      title: t('money.until'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.expires_at} />`,
    },
    {
      title: '',
      cell: (row) => html`<button type="button" class="small danger"
        aria-label=${`${t('money.override_end')}: ${row.key}`} onClick=${() => remove(row)}>
        ${t('money.override_end')}</button>`,
    },
  ];
  return html`<h2>${t('money.overrides')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('money.overrides')} />`;
}

// The value that follows, shown where the current one ends.
function Next({ row, without }) {
  const t = useWords();
  if (row.source === 'override') {
    const next = t(row.expires_at ? 'money.next_after' : 'money.next_if_ended');
    return html`${row.expires_at && `${date(row.expires_at)}: `}${next}${' '}${without}`;
  }
  return row.expires_at ? t('money.next_plan_ends', { date: date(row.expires_at) }) : '';
}

export function Entitlements({ query }) {
  const t = useWords();
  const org_id = query.org_id || session.get().me.org_id;
  const call = useCall(with_query('/v1/entitlements', { org_id }));
  const overrides = usePages(with_query('/v1/entitlement-overrides', { org_id }));
  const done = (action) => {
    call.reload();
    overrides.reload();
    show_change({ action });
  };
  const columns = [
    ...limit_columns(t),
    {
      title: t('money.next'),
      is_wide: true,
      cell: (row) => html`<${Next} row=${row} without=${t('money.plan_or_setting')} />`,
    },
  ];
  return html`<h1>${t('money.entitlements')}</h1><${OrgChoice} org_id=${org_id} />
    <${Changed} />
    <${Table} pages=${whole_list(call)} columns=${columns} label=${t('money.entitlements')}
      key_of=${(row) => row.key} />
    <${Overrides} pages=${overrides} on_done=${done} />
    <${Override} org_id=${org_id} rows=${call.body ?? []} on_done=${done}
      key=${`new ${org_id}`} />`;
}
