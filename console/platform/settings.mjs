// Live settings: what each is, where its value comes from, what it may be and what a change does.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { bytes, duration, number, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { LastChange, useLastChanges } from '../org/who.mjs';
import { set_query } from '../router.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall } from '../ui/list.mjs';
import '../words/org_limits.mjs';
import '../words/platform.mjs';
import '../words/platform_system.mjs';
import { whole_list } from './parts.mjs';

/** @param {string} key @returns {`/v1/admin/settings/${string}`} */
const path_of = (key) => `/v1/admin/settings/${key}`;
const area_of = (row) => row.key.split('.')[0];
const look = { db: 'live', env: 'warn', default: '' };

function shown_text(row, t) {
  if (row.secret) return t('settings.secret');
  if (row.type === 'boolean') return t(row.value ? 'settings.on' : 'settings.off');
  if (row.type === 'strings') return row.value.join(', ') || t('settings.empty');
  if (typeof row.value === 'number') {
    const is_unlimited = row.value === 0 && /\b0: any number|\bunlimited/.test(row.description);
    return is_unlimited ? t('limits.unlimited') : measured(row.value, row.unit);
  }
  return row.value === '' ? t('settings.empty') : row.value;
}

const ms_of = { seconds: 1000, milliseconds: 1 };
// '7 d', '32 KiB', '1,000 runs'.
function measured(value, unit) {
  if (unit in ms_of) return duration(value * ms_of[unit]);
  if (unit === 'bytes') return bytes(value);
  return `${number(value)} ${unit ?? ''}`.trim();
}

// '1 s to 10 y', '1 to 1,000 runs'.
function bounds({ minimum, maximum, unit }, t) {
  if (minimum === null) return '';
  const is_plain = !(unit in ms_of) && unit !== 'bytes';
  return t('settings.bounds', {
    minimum: is_plain ? minimum : measured(minimum, unit),
    maximum: measured(maximum, unit),
  });
}

// A form takes values in the setting's own unit.
const exact_bounds = ({ minimum, maximum, unit }, t) =>
  minimum === null
    ? ''
    : t('settings.exact', { minimum, maximum, unit: unit ?? '' });

// The typed text as the JSON that the service wants. Text that is no number goes out unchanged, so
// that the service refuses it.
function value_of(row, typed) {
  if (row.type === 'integer' || row.type === 'number') {
    return typed.trim() === '' || Number.isNaN(Number(typed)) ? typed : Number(typed);
  }
  if (row.type === 'strings') return typed.split(/[\s,]+/).filter(Boolean);
  return typed;
}

function typed_of(row) {
  if (row.type === 'boolean') return row.value;
  if (row.type === 'strings') return row.value.join('\n');
  return row.value === null ? '' : String(row.value);
}

function Change({ row, on_close, on_done }) {
  const t = useWords();
  const form = useForm({ value: typed_of(row) });
  const kinds = {
    boolean: { type: 'checkbox' },
    strings: { rows: 4, spellcheck: false },
    choice: { options: row.choices.map((each) => [each, each || t('settings.empty')]) },
    integer: { inputmode: 'numeric' },
    number: { inputmode: 'decimal' },
    text: { type: row.secret ? 'password' : 'text', spellcheck: false },
  };
  return html`<${Dialog} title=${row.key} on_close=${on_close}>
    <p>${row.description}</p><p class="dim">${t('settings.effect')}${
      row.key.startsWith('limit.') && ` ${t('settings.effect_limit')}`
    }</p>
    <${Form} form=${form} label=${row.key} on_submit=${async ({ value }) => {
      const secrets = row.secret ? { value: 'HOSTLER_SETTING' } : {};
      await with_fresh_login(() =>
        api.put(path_of(row.key), { value: value_of(row, value) }, { secrets }),
      );
      on_done('settings.set', row.key);
    }}>
      <${Field} form=${form} name="value" label=${t('settings.value')} ...${kinds[row.type]}
        hint=${html`${t('settings.now', { value: shown_text(row, t) })}${' '}
          ${exact_bounds(row, t)}`}
        autocomplete="off" autofocus />
      <div class="actions"><${Submit} form=${form}>${t('platform.change')}<//></div>
    <//><//>`;
}

function About({ row }) {
  return html`<code>${row.key}</code><br /><span class="dim">${row.description}</span>`;
}

export function Settings({ query }) {
  const t = useWords();
  const call = useCall('/v1/admin/settings');
  const [changed, set_changed] = useState(null);
  const { q = '' } = query;
  const changes = useLastChanges(['settings.set', 'settings.unset']);
  const done = async (action, key) => {
    set_changed(null);
    call.reload();
    await show_change({ action, target_id: key });
    changes.reload();
  };
  const take_back = async (row) => {
    const question = {
      title: t('settings.unset'),
      action: t('settings.unset'),
      text: t('settings.unset_text', { key: row.key }),
    };
    const work = () => api.del(path_of(row.key));
    if (await ask_and_do({ ...question, work })) done('settings.unset', row.key);
  };
  const has = (row) =>
    `${row.key} ${row.description}`.toLowerCase().includes(q.toLowerCase()) &&
    (!query.changed || row.source !== 'default');
  const columns = [
    {
      title: t('settings.setting'),
      is_title: true,
      is_wide: true,
      cell: (row) => html`<${About} row=${row} />`,
    },
    {
      title: t('settings.value'),
      is_wide: true,
      cell: (row) => html`<bdi class=${row.secret ? 'dim' : ''}>${shown_text(row, t)}</bdi>`,
    },
    {
      title: t('settings.source'),
      cell: (row) => html`<span class=${`mark ${look[row.source]}`}>
        ${t(`settings.source.${row.source}`)}</span>`,
    },
    { title: t('settings.may_be'), cell: (row) => bounds(row, t) || t(`settings.${row.type}`) },
    {
      title: t('settings.last_change'),
      cell: (row) => html`<${LastChange} row=${changes.rows.get(row.key)} />`,
    },
    {
      title: '',
      cell: (row) => html`<span class="row-actions"><button type="button" class="small"
          aria-label=${`${t('platform.change')}: ${row.key}`} onClick=${() => set_changed(row)}>
          ${t('platform.change')}</button>${
            row.source === 'db' &&
            html`<button type="button" class="small danger"
              aria-label=${`${t('settings.unset')}: ${row.key}`} onClick=${() => take_back(row)}>
              ${t('settings.unset')}</button>`
          }</span>`,
    },
  ];
  const rows = (call.body ?? []).filter(has);
  const areas = [...new Set(rows.map(area_of))];
  const pages_of = (area) =>
    whole_list({ ...call, error: null }, rows.filter((row) => area_of(row) === area));
  return html`<div class="head"><h1>${t('settings.title')}</h1></div>
    <div class="filters"><div class="field"><label for="find-setting">${t('settings.find')}</label>
        <input id="find-setting" type="search" value=${q}
          onInput=${(event) => set_query({ q: event.currentTarget.value })} /></div>
      <label class="check"><input type="checkbox" checked=${Boolean(query.changed)}
        onChange=${(event) => set_query({ changed: event.currentTarget.checked ? 'yes' : '' })} />
        ${t('settings.only_changed')}</label></div>
    <${Changed} /><${ErrorBox} error=${call.error} on_retry=${call.reload} />
    ${areas.map(
      (area) => html`<h2 key=${`head ${area}`}><code>${area}</code></h2>
      <${Table} pages=${pages_of(area)} columns=${columns}
        label=${`${t('settings.title')}: ${area}`} key=${area}
        key_of=${(row) => row.key} />`,
    )}
    ${!call.body && call.is_loading && html`<p class="dim working">${t('loading')}</p>`}
    ${call.body && rows.length === 0 && html`<p class="empty">${t('settings.none')}</p>`}
    ${
      changed &&
      html`<${Change} row=${changed} on_done=${done} key=${changed.key}
        on_close=${() => set_changed(null)} />`
    }`;
}
