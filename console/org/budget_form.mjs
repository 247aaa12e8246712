// Dialogs that add and change a budget.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { OrgField } from '../platform/org_field.mjs';
import { may, session } from '../session.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { changes_of, Field, Form, list_in, Submit, useForm } from '../ui/form.mjs';
import '../words/budgets.mjs';
import { subject_types, SubjectField } from './budget_subject.mjs';
import { refuse } from './parts.mjs';

const units = ['credits', 'usd'];
const windows = ['month', 'day', 'total'];
const answers = ['wait', 'fail'];
const own_zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

function number_in(text, field, t) {
  const value = Number(text.trim());
  if (!text.trim() || !(value > 0)) refuse(field, t('budgets.bad_amount'));
  return value;
}
function percents_in(text, t) {
  const percents = list_in(text.replace(/%/g, ' ')).map(Number);
  const is_good = percents.every((one) => Number.isInteger(one) && one >= 1 && one <= 100);
  if (!is_good) refuse('alert_percents', t('budgets.bad_percents'));
  return [...new Set(percents)].sort((one, other) => one - other);
}

function AmountField({ form, unit }) {
  const t = useWords();
  return html`<${Field} form=${form} name="amount" inputmode="decimal" autocomplete="off"
    label=${t(`budgets.amount.${unit}`)} hint=${t(`budgets.amount_hint.${unit}`)} />`;
}

// Fields that may be changed later, too.
function LaterFields({ form }) {
  const t = useWords();
  return html`<${Field} form=${form} name="on_exhausted" label=${t('budgets.then')}
      options=${answers.map((one) => [one, t(`budgets.then.${one}`)])}
      hint=${t(`budgets.then_hint.${form.values.on_exhausted}`)} />
    <${Field} form=${form} name="alert_percents" label=${t('budgets.alerts')}
      hint=${t('budgets.alerts_hint')} autocomplete="off" inputmode="text" />`;
}

export function NewBudget({ subjects, on_done, on_close }) {
  const t = useWords();
  const { me } = session.get();
  const form = useForm({
    org_id: may('org.manage') ? me.org_id : '',
    name: '',
    subject_type: 'org',
    subject: '',
    unit: 'credits',
    amount: '',
    window: 'month',
    time_zone: own_zone(),
    on_exhausted: 'wait',
    alert_percents: '80, 100',
  });
  const { unit, window, org_id } = form.values;
  const is_elsewhere = org_id.trim() !== me.org_id;
  const make = async (values, key) => {
    const body = {
      name: values.name.trim(),
      subject: {
        type: values.subject_type,
        id: values.subject_type === 'org' ? org_id.trim() : values.subject.trim(),
      },
      unit: values.unit,
      amount: number_in(values.amount, 'amount', t),
      window: values.window,
      time_zone: values.window === 'total' ? undefined : values.time_zone.trim(),
      on_exhausted: values.on_exhausted,
      alert_percents: percents_in(values.alert_percents, t),
      org_id: is_elsewhere ? org_id.trim() : undefined,
    };
    on_done((await api.post('/v1/budgets', body, { idempotency_key: key })).body);
  };
  return html`<${Dialog} title=${t('budgets.new')} on_close=${on_close}>
    <${Form} form=${form} label=${t('budgets.new')} on_submit=${make}>
      <${Field} form=${form} name="name" label=${t('budgets.name')} dir="auto" maxlength="200"
        autocomplete="off" autofocus />
      ${me.platform_admin && html`<${OrgField} form=${form} />`}
      <${Field} form=${form} name="subject_type" label=${t('budgets.for')}
        options=${subject_types.map((type) => [type, t(`budgets.type.${type}`)])}
        hint=${t(`budgets.bounds.${form.values.subject_type}`)}
        on_change=${() => form.set('subject', '')} />
      <${SubjectField} form=${form} choices=${subjects.choices} is_elsewhere=${is_elsewhere}
        key=${form.values.subject_type} />
      <${Field} form=${form} name="unit" label=${t('budgets.unit')}
        options=${units.map((one) => [one, t(`budgets.unit.${one}`)])} />
      <${AmountField} form=${form} unit=${unit} />
      <${Field} form=${form} name="window" label=${t('budgets.window')}
        options=${windows.map((one) => [one, t(`budgets.window.${one}`)])} />
      ${
        window !== 'total' &&
        html`<${Field} form=${form} name="time_zone" label=${t('account.timezone')}
          list="budget-zones" hint=${t('budgets.zone_hint')} autocomplete="off" maxlength="64"
          spellcheck="false" />
        <datalist id="budget-zones">${['UTC', ...Intl.supportedValuesOf('timeZone')].map(
          (zone) => html`<option value=${zone} key=${zone} />`,
        )}</datalist>`
      }
      <${LaterFields} form=${form} />
      <div class="actions"><${Submit} form=${form}>${t('org_ui.add')}<//></div>
    <//><//>`;
}

/**
 * @param {{budget: import('../types/calls').Schemas['Budget'], on_done: (one: any) => void,
 *   on_close: () => void}} props
 */
export function ChangeBudget({ budget, on_done, on_close }) {
  const t = useWords();
  const form = useForm({
    name: budget.name,
    amount: String(budget.amount),
    on_exhausted: budget.on_exhausted,
    alert_percents: budget.alert_percents.join(', '),
    is_active: budget.is_active,
  });
  const change = async (values) => {
    const body = changes_of(
      {
        ...values,
        name: values.name.trim(),
        amount: number_in(values.amount, 'amount', t),
        alert_percents: percents_in(values.alert_percents, t),
      },
      budget,
    );
    if (body === null) on_close();
    else on_done((await api.patch(`/v1/budgets/${budget.id}`, body)).body);
  };
  const title = `${t('budgets.edit')}: ${budget.name}`;
  return html`<${Dialog} title=${title} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${change}>
      <${Field} form=${form} name="name" label=${t('budgets.name')} dir="auto" maxlength="200"
        autocomplete="off" />
      <${AmountField} form=${form} unit=${budget.unit} />
      <${LaterFields} form=${form} />
      <${Field} form=${form} name="is_active" type="checkbox" label=${t('budgets.is_active')}
        hint=${t('budgets.is_active_hint')} />
      <p class="dim">${t('budgets.fixed')}</p>
      <div class="actions"><${Submit} form=${form}>${t('save')}<//></div>
    <//><//>`;
}
