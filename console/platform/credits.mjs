// Credits of an organization with its ledger; changes of one, and of all with what they will do.
import { api, with_query } from '../api.mjs';
import { html, useRef } from '../html.mjs';
import { number, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { set_query } from '../router.mjs';
import { session } from '../session.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { toast, toast_error } from '../ui/error.mjs';
import { Field, Form, Submit, useForm, useFormOf } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_money.mjs';
import { OrgField } from './org_field.mjs';
import { number_or_none, PanelForm } from './parts.mjs';

// Which organization the screen is about; kept in the address.
export function OrgChoice({ org_id }) {
  const t = useWords();
  const form = useFormOf({ org_id });
  return html`<${Form} form=${form} label=${t('platform.org_id')}
    on_submit=${(values) => set_query({ org_id: values.org_id.trim() })}>
    <div class="filters"><${OrgField} form=${form}
        on_choose=${(chosen) => set_query({ org_id: chosen })} />
      <${Submit} form=${form} kind="">${t('platform.show')}<//></div><//>`;
}

// balance: undefined while it is read; what is typed meanwhile stays.
function Adjust({ org_id, balance, on_done }) {
  const t = useWords();
  const form = useForm({ amount: '', note: '' });
  const amount = Number(form.values.amount);
  return html`<${PanelForm} form=${form} title=${t('money.adjust')}
    on_submit=${async (values, key) => {
    await api.post(
      '/v1/admin/credits/adjust',
      { org_id, amount: number_or_none(values.amount), note: values.note || null },
      { idempotency_key: key },
    );
    form.reset();
    on_done('credits.adjust');
  }}>
    <${Field} form=${form} name="amount" label=${t('money.amount')} hint=${t('money.amount_hint')}
      inputmode="numeric" autocomplete="off" />
    <${Field} form=${form} name="note" label=${t('platform.note')} maxlength="1000" dir="auto"
      autocomplete="off" />
    ${
      balance !== undefined &&
      Number.isInteger(amount) &&
      amount !== 0 &&
      html`<p role="status">${t('money.preview', { from: balance, to: balance + amount })}</p>`
    }
    <div class="actions"><${Submit} form=${form}>${t('money.adjust')}<//></div><//>`;
}

// A change of all: the service says of how many and how much before it is done.
function Bulk({ on_done }) {
  const t = useWords();
  const form = useForm({ amount: '', note: '' });
  const note = form.values.note || null;
  // The same key while the same change is tried again after an error: it is not done twice.
  const tried = useRef({ of: '', key: '' });
  const key_of = (change) => {
    if (tried.current.of !== change) tried.current = { of: change, key: crypto.randomUUID() };
    return tried.current.key;
  };
  // `post(more, options)` is the call; `question(would)` what is asked, by what a dry run answered.
  const run = async (post, action, question) => {
    const { body: would } = await with_fresh_login(() => post({ dry_run: true }, {}));
    let affected = 0;
    const options = { idempotency_key: key_of(JSON.stringify([action, form.values])) };
    const work = async () => {
      affected = (await post({}, options)).body.affected;
      tried.current = { of: '', key: '' };
    };
    if (await ask_and_do({ ...question(would), work })) on_done(action, affected);
  };
  const adjust = (values) => {
    const amount = number_or_none(values.amount);
    const post = (more, options) =>
      api.post('/v1/admin/credits/bulk-adjust', { amount, note, ...more }, options);
    return run(post, 'credits.bulk_adjust', ({ affected, total }) => ({
      title: t('money.bulk'),
      action: t('money.bulk_do'),
      text: t(amount > 0 ? 'money.bulk_adds' : 'money.bulk_takes', {
        amount: Math.abs(amount),
        count: affected,
        sum: Math.abs(total),
      }),
    }));
  };
  const reset = async () => {
    const post = (more, options) =>
      api.post('/v1/admin/credits/reset-all', { note, ...more }, options);
    try {
      await run(post, 'credits.reset_all', ({ affected, total }) => ({
        title: t('money.reset'),
        action: t('money.reset'),
        text: t('money.reset_text', { count: affected, sum: Math.abs(total) }),
        typed: t('money.reset_typed'),
      }));
    } catch (error) {
      toast_error(error);
    }
  };
  return html`<section class="panel"><h2>${t('money.bulk')}</h2>
    <${Form} form=${form} label=${t('money.bulk')} on_submit=${adjust}>
      <${Field} form=${form} name="amount" label=${t('money.amount')} hint=${t('money.amount_hint')}
        inputmode="numeric" autocomplete="off" />
      <${Field} form=${form} name="note" label=${t('platform.note')} maxlength="1000" dir="auto"
        autocomplete="off" />
      <div class="actions"><${Submit} form=${form} kind="">
          ${t('money.bulk_do')}<//>
        <button type="button" class="danger" onClick=${reset}>${t('money.reset')}</button></div>
    <//></section>`;
}

export function PlatformCredits({ query }) {
  const t = useWords();
  const org_id = query.org_id || session.get().me.org_id;
  const path = with_query('/v1/admin/credits', { org_id });
  const pages = usePages(path, { pick: (body) => body.transactions });
  const done = (action, affected = 0) => {
    pages.reload();
    if (affected) toast(t('money.affected', { count: affected }));
    show_change({ action });
  };
  const columns = [
    {
      title: t('credits.when'),
      is_title: true,
      is_time: true,
      cell: (row) => html`<${When} at=${row.created_at} />`,
    },
    { title: t('credits.what'), cell: (row) => t(`credits.${row.type}`) },
    {
      title: t('credits.about'),
      is_wide: true,
      cell: (row) => html`<bdi>${row.note ?? row.reference_id}</bdi>`,
    },
    {
      title: t('credits.amount'),
      is_number: true,
      cell: (row) => number(row.amount, { signDisplay: 'exceptZero' }),
    },
    { title: t('credits.after'), is_number: true, cell: (row) => number(row.balance_after) },
  ];
  return html`<h1>${t('money.title')}</h1><${OrgChoice} org_id=${org_id} />
    <${Changed} />
    ${
      pages.first &&
      html`<ul class="figures">
        <li><strong>${number(pages.first.available)}</strong>${t('credits.available')}</li>
        <li><strong>${number(pages.first.balance)}</strong>${t('credits.balance')}</li></ul>`
    }
    <div class="panels">
      <${Adjust} key=${org_id} org_id=${org_id} balance=${pages.first?.balance} on_done=${done} />
      <${Bulk} on_done=${done} /></div>
    <h2>${t('credits.ledger')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('credits.ledger')} />`;
}
