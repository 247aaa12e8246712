// Budgets: how much may be spent for whom in which time, what is spent and left. Members see those
// that apply to them.
import { api, with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useState } from '../html.mjs';
import { number, time, usd, useWords } from '../i18n.mjs';
import { place, set_query } from '../router.mjs';
import { may, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { Field, Form, Submit, useFormOf } from '../ui/form.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import '../words/budgets.mjs';
import { subject_types, useSubjects } from './budget_subject.mjs';
import { ChangeBudget, NewBudget } from './budget_form.mjs';
import { Changed, show_change } from './change.mjs';
import { ask_and_do } from './parts.mjs';

/** @typedef {import('../types/calls').Schemas['Budget']} Budget */

const in_unit = ({ unit }, value) => (unit === 'usd' ? usd(value) : number(value));

// The spent part of the amount, as a bar and in words.
/** @param {{one: Budget}} props */
function Spent({ one }) {
  const t = useWords();
  const amount = in_unit(one, one.amount);
  if (one.spent === null) {
    return html`${amount} <span class="dim">${t('budgets.each')}</span>`;
  }
  const of_amount = t('budgets.of', { spent: in_unit(one, one.spent), amount });
  return html`<span class="used"><meter min="0" max=${one.amount} value=${one.spent + one.held}
      high=${one.amount * 0.9} aria-label=${`${one.name}: ${of_amount}`}></meter>
    <span>${of_amount}</span>
    <span class="dim">${t('budgets.left', { left: in_unit(one, one.left) })}${
      one.held > 0 && ` · ${t('budgets.held', { held: in_unit(one, one.held) })}`
    }</span></span>`;
}

/** @param {{one: Budget}} props */
function Window({ one }) {
  const t = useWords();
  return html`${t(`budgets.window.${one.window}`)}${
    one.renews_at &&
    html`<br /><span class="dim">${t('budgets.renews', { at: time(one.renews_at) })}</span>`
  }`;
}

/** @param {{one: Budget}} props */
function State({ one }) {
  const t = useWords();
  if (!one.is_active) return html`<span class="mark">${t('budgets.inactive')}</span>`;
  const share = one.spent === null ? 0 : one.spent / one.amount;
  const [kind, word] =
    share >= 1 ? ['bad', 'used_up'] : share >= 0.9 ? ['warn', 'nearly'] : ['good', 'active'];
  return html`<span class=${`mark ${kind}`}>${t(`budgets.${word}`)}</span>`;
}

// Which budgets are listed, and of which end user those for each of them show the spending.
function Filters({ query, has_each }) {
  const t = useWords();
  const { subject_type = '', end_user = '' } = query;
  const form = useFormOf({ subject_type, end_user });
  return html`<${Form} form=${form} label=${t('budgets.filter')} on_submit=${set_query}>
    <div class="filters">
      <${Field} form=${form} name="subject_type" label=${t('budgets.for')} options=${[
        ['', t('budgets.all')],
        ...subject_types.map((type) => [type, t(`budgets.type.${type}`)]),
      ]} on_change=${(chosen) => set_query({ ...form.values, subject_type: chosen })} />
      ${
        has_each &&
        html`<${Field} form=${form} name="end_user" label=${t('budgets.end_user')} dir="auto"
          maxlength="128" autocomplete="off" />
        <${Submit} form=${form} kind="">${t('budgets.show')}<//>`
      }</div>
  <//>`;
}

export function Budgets({ query }) {
  const t = useWords();
  const { me } = useStore(session);
  const { subject_type, end_user } = query;
  const pages = usePages(
    with_query('/v1/budgets', { subject_type: /** @type {any} */ (subject_type), end_user }),
  );
  const subjects = useSubjects(pages.items);
  const [opened, set_opened] = useState(/** @type {Budget | 'new' | null} */ (null));
  const may_make = may('org.manage') || me.platform_admin;
  const may_change = (one) => me.platform_admin || (may('org.manage') && one.set_by === 'org');
  const make = () => may_make && set_opened('new');
  useCommands([{ id: 'new budget', keys: 'n', label: () => t('budgets.new'), run: make }]);
  const remove = async (one) => {
    const done = await ask_and_do({
      title: `${t('delete')}: ${one.name}`,
      text: t('budgets.delete_text'),
      action: t('delete'),
      work: () => api.del(`/v1/budgets/${one.id}`),
    });
    if (!done) return;
    pages.change((items) => items.filter((item) => item.id !== one.id));
    await show_change({ action: 'budgets.delete', target_id: one.id });
  };
  // One of another organization is in no list of this one: it stays until the list is read again.
  const made = (one) => {
    set_opened(null);
    pages.change((items) => [one, ...items]);
    show_change({ action: 'budgets.create', target_id: one.id });
  };
  const changed = (one) => {
    set_opened(null);
    pages.change((items) => items.map((item) => (item.id === one.id ? one : item)));
    show_change({ action: 'budgets.update', target_id: one.id });
  };
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('budgets.name'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.name}</bdi>${
        one.set_by === 'platform' && html` <span class="mark">${t('budgets.of_platform')}</span>`
      }${one.warning && html`<br /><span class="dim">${t('budgets.warning')}</span>`}`,
    },
    {
      title: t('budgets.for'),
      is_wide: true,
      cell: (one) => html`${t(`budgets.type.${one.subject.type}`)}${' '}
        <bdi>${subjects.name_of(one)}</bdi>`,
    },
    { title: t('budgets.spent'), is_wide: true, cell: (one) => html`<${Spent} one=${one} />` },
    { title: t('budgets.window'), cell: (one) => html`<${Window} one=${one} />` },
    { title: t('budgets.then'), cell: (one) => t(`budgets.short.${one.on_exhausted}`) },
    { title: t('budgets.state'), cell: (one) => html`<${State} one=${one} />` },
    may_make && {
      title: '',
      cell: (one) =>
        may_change(one) &&
        html`<span class="row-actions"><button type="button" class="small"
          aria-label=${`${t('budgets.edit')}: ${one.name}`} onClick=${() => set_opened(one)}>
          ${t('budgets.edit')}</button>
        <button type="button" class="small danger" aria-label=${`${t('delete')}: ${one.name}`}
          onClick=${() => remove(one)}>${t('delete')}</button></span>`,
    },
  ];
  const empty = may_make && !subject_type;
  const has_each = Boolean(end_user) || pages.items.some(({ spent }) => spent === null);
  return html`<div class="head"><h1>${t('budgets.title')}</h1><span class="space"></span>
      ${may_make && html`<${Adder} pages=${pages} on_click=${make}>${t('budgets.new')}<//>`}</div>
    <${Changed} />
    <p class="dim">${t(may_make ? 'budgets.explain' : 'budgets.explain_member')}</p>
    ${
      (pages.items.length > 0 || subject_type) &&
      html`<${Filters} query=${place.get().query} has_each=${has_each} />`
    }
    <${Table} pages=${pages} columns=${columns} label=${t('budgets.title')} empty=${
      empty
        ? { text: t('budgets.empty'), action: t('budgets.new'), on_action: make }
        : t('budgets.empty_member')
    } />
    ${
      opened === 'new' &&
      html`<${NewBudget} subjects=${subjects} on_done=${made}
        on_close=${() => set_opened(null)} />`
    }
    ${
      opened &&
      opened !== 'new' &&
      html`<${ChangeBudget} budget=${opened} on_done=${changed}
        on_close=${() => set_opened(null)} />`
    }`;
}
