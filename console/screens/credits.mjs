// Credits of the organization: balance, ledger, redeeming a code.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { number, useWords } from '../i18n.mjs';
import { toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';

function Redeem({ on_redeemed }) {
  const t = useWords();
  const form = useForm({ code: '' });
  return html`<section class="panel"><h2>${t('credits.redeem')}</h2>
    <${Form} form=${form} label=${t('credits.redeem')} on_submit=${async ({ code }, key) => {
      const { body } = await api.post(
        '/v1/me/redeem',
        { code: code.trim() },
        { idempotency_key: key },
      );
      toast(t('credits.redeemed', { value: body.value }));
      form.reset();
      on_redeemed();
    }}>
      <${Field} form=${form} name="code" label=${t('credits.code')} autocomplete="off"
        maxlength="64" />
      <div class="actions"><${Submit} form=${form} kind="">${t('credits.redeem')}<//></div>
    <//></section>`;
}

// The subject of a row of the ledger: a run has a screen.
/** @param {{row: import('../types/calls').Schemas['CreditTransaction']}} props */
function Reference({ row }) {
  const t = useWords();
  return html`${
    row.reference_type === 'run' &&
    html`<a
      href=${`#/runs/${row.reference_id}`}>${t('chat.run')}</a>${' '}`
  }
    ${row.note && html`<bdi>${row.note}</bdi>`}`;
}

export function Credits() {
  const t = useWords();
  const pages = usePages('/v1/me/credits', { pick: (body) => body.transactions });
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('credits.when'),
      is_title: true,
      is_time: true,
      cell: (row) => html`<${When} at=${row.created_at} />`,
    },
    { title: t('credits.what'), cell: (row) => t(`credits.${row.type}`) },
    { title: t('credits.about'), is_wide: true, cell: (row) => html`<${Reference} row=${row} />` },
    {
      title: t('credits.amount'),
      is_number: true,
      cell: (row) => number(row.amount, { signDisplay: 'exceptZero' }),
    },
    { title: t('credits.after'), is_number: true, cell: (row) => number(row.balance_after) },
  ];
  const held = pages.first ? pages.first.balance - pages.first.available : 0;
  return html`<h1>${t('credits.title')}</h1>
    ${
      pages.first &&
      html`<ul class="figures">
      <li><strong>${number(pages.first.available)}</strong>${t('credits.available')}</li>
      <li><strong>${number(pages.first.balance)}</strong>${t('credits.balance')}</li>
      <li><strong>${number(held)}</strong>${t('credits.held')}</li></ul>`
    }
    <${Redeem} on_redeemed=${pages.reload} />
    <h2>${t('credits.ledger')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('credits.ledger')} />`;
}
