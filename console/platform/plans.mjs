// Plans, and which organization is subscribed to which.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { date, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { limit_value, Value } from '../org/limits.mjs';
import { ask_and_do, refuse } from '../org/parts.mjs';
import { address } from '../router.mjs';
import { focus_form } from '../ui/focus.mjs';
import { Field, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_money.mjs';
import '../words/platform_people.mjs';
import { OrgField } from './org_field.mjs';
import { begin_of, day_of, PanelForm } from './parts.mjs';

const look = { active: 'good', cancelled: 'warn', expired: '' };

// 'credits.monthly_grant = 5000' a line; the type is read off the value.
function entitlements_of(text, t) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      if (!/^\S+\s*=/.test(line)) refuse('entitlements', t('money.plan_line', { line }));
      const [key, text = ''] = line.split(/\s*=\s*(.*)/s);
      const value = limit_value(key, text);
      const is_boolean = value === 'true' || value === 'false';
      const value_type = is_boolean ? 'boolean' : /^-?\d+$/.test(value) ? 'integer' : 'string';
      return { key, value, value_type };
    });
}

// Keys in the lines of a plan that begin like Hostler's own, and which it does not read.
function unknown_keys(text, keys) {
  if (keys.length === 0) return [];
  return text
    .split('\n')
    .map((line) => line.split('=')[0].trim())
    .filter((key) => /^(limit|credits)\./.test(key) && !keys.includes(key));
}

function NewPlan({ on_done }) {
  const t = useWords();
  const form = useForm({ name: '', display_name: '', entitlements: '' });
  const keys = (useCall('/v1/entitlements').body ?? []).map((one) => one.key);
  const text = form.values.entitlements;
  const add = (key) => form.set('entitlements', `${text.trimEnd()}\n${key} = `.trimStart());
  const unknown = unknown_keys(text, keys);
  return html`<${PanelForm} form=${form} title=${t('money.new_plan')}
    on_submit=${async (values, key) => {
      const body = { ...values, entitlements: entitlements_of(values.entitlements, t) };
      await api.post('/v1/plans', body, { idempotency_key: key });
      form.reset();
      on_done('plans.create');
    }}>
    <${Field} form=${form} name="name" label=${t('money.plan_name')} maxlength="200"
      autocomplete="off" spellcheck=${false} />
    <${Field} form=${form} name="display_name" label=${t('money.plan_shown')} maxlength="200"
      autocomplete="off" dir="auto" />
    <${Field} form=${form} name="entitlements" rows=${4} label=${t('money.plan_gives')}
      hint=${t('money.plan_hint')} spellcheck=${false} />
    ${
      unknown.length > 0 &&
      html`<p class="fault" role="status">${t('money.plan_unknown', {
        keys: unknown.join(', '),
      })}</p>`
    }
    <label class="field">${t('money.plan_add')}${' '}<select value=""
      onChange=${(event) => {
        add(event.currentTarget.value);
        event.currentTarget.value = '';
      }}><option value=""></option>${keys.map(
        (key) => html`<option value=${key} key=${key}>${key}</option>`,
      )}</select></label>
    <div class="actions"><${Submit} form=${form}>${t('money.new_plan')}<//></div><//>`;
}

function Subscribe({ plans, on_done }) {
  const t = useWords();
  const today = new Date();
  const in_a_year = new Date(today.getFullYear() + 1, today.getMonth(), 1);
  const form = useForm({
    org_id: '',
    plan_id: plans[0].id,
    current_period_start: day_of(today),
    current_period_end: day_of(in_a_year),
  });
  return html`<${PanelForm} form=${form} title=${t('money.subscribe')}
    text=${t('money.subscribe_text')} on_submit=${async (values, key) => {
      await api.post(
        '/v1/subscriptions',
        {
          ...values,
          current_period_start: begin_of(values.current_period_start),
          current_period_end: begin_of(values.current_period_end),
        },
        { idempotency_key: key },
      );
      on_done('subscriptions.create');
    }}>
    <${OrgField} form=${form} />
    <${Field} form=${form} name="plan_id" label=${t('money.plan')}
      options=${plans.map((plan) => [plan.id, plan.display_name])} />
    <${Field} form=${form} name="current_period_start" type="date" label=${t('money.from')} />
    <${Field} form=${form} name="current_period_end" type="date" label=${t('money.until')} />
    <div class="actions"><${Submit} form=${form}>${t('money.subscribe')}<//></div><//>`;
}

function Subscriptions({ pages, plans, on_done }) {
  const t = useWords();
  const name_of = (id) => plans.find((plan) => plan.id === id)?.display_name ?? id;
  const cancel = async (row) => {
    const question = {
      title: t('money.unsubscribe'),
      action: t('money.unsubscribe'),
      text: t('money.unsubscribe_text', { plan: name_of(row.plan_id) }),
    };
    const work = () => api.del(`/v1/subscriptions/${row.id}`);
    const done = await ask_and_do({ ...question, work });
    if (done) on_done('subscriptions.cancel');
  };
  const columns = [
    {
      title: t('org'),
      is_title: true,
      is_wide: true,
      cell: ({ org_id }) => html`<a href=${address('/platform/entitlements', { org_id })}>
        <code>${org_id}</code></a>`,
    },
    {
      title: t('money.plan'),
      is_wide: true,
      cell: (row) => html`<bdi>${name_of(row.plan_id)}</bdi>`,
    },
    {
      title: t('users.status'),
      cell: (row) => html`<span class=${`mark ${look[row.status]}`}>
        ${t(`money.status.${row.status}`)}</span>`,
    },
    {
      title: t('money.from'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.current_period_start} />`,
    },
    {
      title: t('money.until'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.current_period_end} />`,
    },
    {
      title: '',
      cell: (row) =>
        row.status === 'active' &&
        html`<button type="button" class="small danger" onClick=${() => cancel(row)}
          aria-label=${`${t('money.unsubscribe')}: ${row.org_id}`}>${t('money.unsubscribe')}
        </button>`,
    },
  ];
  return html`<h2>${t('money.subscriptions')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('money.subscriptions')} />`;
}

export function Plans() {
  const t = useWords();
  const plans = usePages('/v1/plans');
  const subscriptions = usePages('/v1/subscriptions');
  const done = (action) => {
    plans.reload();
    subscriptions.reload();
    show_change({ action });
  };
  const columns = [
    {
      title: t('money.plan'),
      is_title: true,
      is_wide: true,
      cell: (plan) => html`<bdi>${plan.display_name}</bdi>`,
    },
    {
      title: t('money.plan_name'),
      is_wide: true,
      cell: (plan) => html`<code>${plan.name}</code>`,
    },
    {
      title: t('money.gives'),
      is_wide: true,
      cell: (plan) =>
        plan.entitlements.map(
          (each) => html`<div><code>${each.key}</code> <${Value} one=${each} /></div>`,
        ),
    },
    {
      title: t('users.since'),
      is_time: true,
      cell: (plan) => html`<${Day} at=${plan.created_at} />`,
    },
  ];
  return html`<h1>${t('money.plans')}</h1><${Changed} />
    <${Table} pages=${plans} columns=${columns} label=${t('money.plans')}
      empty=${{
        text: t('money.no_plans'),
        action: t('money.first_plan'),
        on_action: () => focus_form(t('money.new_plan')),
      }} />
    <${Subscriptions} pages=${subscriptions} plans=${plans.items} on_done=${done} />
    <div class="panels"><${NewPlan} on_done=${done} />
      ${
        plans.items.length > 0 &&
        html`<${Subscribe} plans=${plans.items} on_done=${done} key=${plans.items[0].id} />`
      }</div>`;
}
