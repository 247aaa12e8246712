// From which addresses the organization may be used, and whether one would pass.
import { api } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { toast_error } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/org_ip_rules.mjs';
import { Changed, show_change } from './change.mjs';

// Does it. If that would lock out the user, it asks first and does it when they insist.
async function unless_locked_out(t, work) {
  try {
    return await work(undefined);
  } catch (error) {
    if (error.code !== 'ip_rules.would_lock_out') throw error;
    const insists = await ask({
      title: t('ip_rules.lock_out'),
      text: `${error.detail || error.title} ${t('ip_rules.lock_out_text')}`,
      action: t('ip_rules.insist'),
    });
    if (!insists) throw error;
    return work(true);
  }
}

function NewRule({ on_made, on_close }) {
  const t = useWords();
  const form = useForm({ type: 'allowlist', cidr: '', note: '' });
  const make = (values, key) =>
    unless_locked_out(t, async (force) => {
      const { type, note } = values;
      const body = { type, cidr: values.cidr.trim(), note: note || null, force };
      const options = { idempotency_key: force ? true : key };
      on_made((await api.post('/v1/ip-rules', body, options)).body);
    });
  return html`<${Dialog} title=${t('ip_rules.new')} on_close=${on_close}>
    <${Form} form=${form} label=${t('ip_rules.new')} on_submit=${make}>
      <${Field} form=${form} name="type" label=${t('ip_rules.type')}
        options=${['allowlist', 'blocklist'].map((type) => [type, t(`ip_rules.${type}`)])}
        hint=${t(`ip_rules.${form.values.type}_hint`)} />
      <${Field} form=${form} name="cidr" label=${t('ip_rules.cidr')} maxlength="50"
        hint=${t('ip_rules.cidr_hint')} autocomplete="off" spellcheck="false" autofocus />
      <${Field} form=${form} name="note" label=${t('ip_rules.note')} maxlength="1000" dir="auto"
        autocomplete="off" />
      <div class="actions"><${Submit} form=${form}>${t('org_ui.add')}<//></div>
    <//><//>`;
}

// "Would this address pass?"
function Check({ rules }) {
  const t = useWords();
  const form = useForm({ address: '' });
  const [answer, set_answer] = useState(null);
  const check = async ({ address }) => {
    set_answer(null);
    const { body } = await api.get('/v1/ip-rules/check', { query: { address: address.trim() } });
    set_answer({ ...body, address: address.trim() });
  };
  const rule = answer && rules.find((one) => one.id === answer.rule_id);
  const why = () => {
    if (answer.rule_id) {
      const name = rule ? `${t(`ip_rules.${rule.type}`)} ${rule.cidr}` : answer.rule_id;
      return t('ip_rules.by_rule', { rule: name });
    }
    return t(answer.passes ? 'ip_rules.by_none' : 'ip_rules.by_absence');
  };
  return html`<section class="panel"><h2>${t('ip_rules.check')}</h2>
    <${Form} form=${form} label=${t('ip_rules.check')} on_submit=${check}>
      <${Field} form=${form} name="address" label=${t('ip_rules.address')} maxlength="50"
        autocomplete="off" spellcheck="false" placeholder="203.0.113.7" />
      <div class="actions"><${Submit} form=${form} kind="">${t('ip_rules.do_check')}<//></div>
    <//>
    <div role="status">${
      answer &&
      html`<p><span class=${`mark ${answer.passes ? 'good' : 'bad'}`}>${t(
        answer.passes ? 'ip_rules.passes' : 'ip_rules.refused',
      )}</span> <bdi>${answer.address}</bdi>: ${why()}</p>`
    }</div></section>`;
}

export function IpRules() {
  const t = useWords();
  const pages = usePages('/v1/ip-rules');
  const [is_making, set_making] = useState(false);
  useCommands([
    { id: 'new rule', keys: 'n', label: () => t('ip_rules.new'), run: () => set_making(true) },
  ]);
  const remove = async (rule) => {
    const name = `${t(`ip_rules.${rule.type}`)} ${rule.cidr}`;
    const text = t(`ip_rules.remove_${rule.type}`, { cidr: rule.cidr });
    if (!(await ask({ title: `${t('delete')}: ${name}`, text, action: t('delete') }))) return;
    try {
      await unless_locked_out(t, (force) =>
        api.del(`/v1/ip-rules/${rule.id}`, undefined, { query: { force } }),
      );
      pages.reload();
      await show_change({ action: 'ip_rules.delete', target_id: rule.id });
    } catch (error) {
      toast_error(error);
    }
  };
  const columns = [
    { title: t('ip_rules.cidr'), is_title: true, cell: (one) => html`<code>${one.cidr}</code>` },
    {
      title: t('ip_rules.type'),
      cell: (one) =>
        html`<span class=${`mark ${one.type === 'allowlist' ? 'good' : 'bad'}`}>${t(
          `ip_rules.${one.type}`,
        )}</span>`,
    },
    { title: t('ip_rules.note'), is_wide: true, cell: (one) => html`<bdi>${one.note}</bdi>` },
    {
      title: t('ip_rules.made'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
    {
      title: '',
      cell: (one) => html`<button type="button" class="small danger"
        aria-label=${`${t('delete')}: ${one.cidr}`} onClick=${() => remove(one)}>
        ${t('delete')}</button>`,
    },
  ];
  return html`<div class="head"><h1>${t('ip_rules.title')}</h1><span class="space"></span>
      <${Adder} pages=${pages} on_click=${() => set_making(true)}>
        ${t('ip_rules.new')}<//></div>
    <${Changed} />
    <p class="dim">${t('ip_rules.explain')}</p>
    <${Table} pages=${pages} columns=${columns} label=${t('ip_rules.title')} empty=${{
      text: t('ip_rules.empty'),
      action: t('ip_rules.new'),
      on_action: () => set_making(true),
    }} />
    <${Check} rules=${pages.items} />
    ${
      is_making &&
      html`<${NewRule} on_close=${() => set_making(false)} on_made=${(made) => {
        set_making(false);
        pages.reload();
        show_change({ action: 'ip_rules.create', target_id: made.id });
      }} />`
    }`;
}
