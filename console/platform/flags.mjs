// Feature flags, their overrides, and why an organization has the value that it has.
import { api, with_query } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ask_and_do } from '../org/parts.mjs';
import { LastChange, useLastChanges } from '../org/who.mjs';
import { set_query } from '../router.mjs';
import { session } from '../session.mjs';
import { focus_form } from '../ui/focus.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/platform.mjs';
import '../words/platform_money.mjs';
import '../words/platform_people.mjs';
import '../words/platform_system.mjs';
import { OrgField } from './org_field.mjs';
import { PanelForm } from './parts.mjs';

/** @param {string} key @returns {`/v1/feature-flags/${string}`} */
const path_of = (key) => `/v1/feature-flags/${encodeURIComponent(key)}`;
/** @param {string} key @returns {`/v1/feature-flags/${string}/org-overrides`} */
const overrides_of = (key) => `/v1/feature-flags/${encodeURIComponent(key)}/org-overrides`;
const turn_word = (t, flag) => t(flag.default_value ? 'flags.turn_off' : 'flags.turn_on');
const word_of = (t, value) => t(value ? 'settings.on' : 'settings.off');

function NewFlag({ on_done }) {
  const t = useWords();
  const form = useForm({ key: '', description: '', default_value: false });
  return html`<${PanelForm} form=${form} title=${t('flags.new')}
    on_submit=${async (values, key) => {
    await api.post('/v1/feature-flags', values, { idempotency_key: key });
    form.reset();
    on_done('feature_flags.create');
  }}>
    <${Field} form=${form} name="key" label=${t('flags.key')} hint="runs.new_editor"
      maxlength="128" spellcheck=${false} autocomplete="off" />
    <${Field} form=${form} name="description" label=${t('flags.about')} maxlength="2000"
      dir="auto" autocomplete="off" />
    <${Field} form=${form} name="default_value" type="checkbox" label=${t('flags.default')} />
    <div class="actions"><${Submit} form=${form}>${t('flags.new')}<//></div><//>`;
}

function Why({ flag }) {
  const t = useWords();
  const [answer, set_answer] = useState(null);
  const form = useForm({ org_id: session.get().me.org_id });
  return html`<section class="panel"><h2>${t('flags.why')}</h2>
    <${Form} form=${form} label=${t('flags.why')} on_submit=${async ({ org_id }) => {
      const query = { org_id: org_id.trim() };
      const path = /** @type {const} */ (
        `/v1/feature-flags/${encodeURIComponent(flag)}/evaluate`
      );
      set_answer((await api.get(path, { query })).body);
    }}>
      <${OrgField} form=${form} />
      <div class="actions"><${Submit} form=${form} kind="">${t('flags.ask')}<//></div>
    <//>
    ${
      answer &&
      html`<p role="status">${t(`flags.reason.${answer.reason}`, {
        key: answer.key,
        value: word_of(t, answer.value),
      })}</p>`
    }</section>`;
}

function Override({ flag, on_done }) {
  const t = useWords();
  const form = useForm({ org_id: '', enabled: true });
  return html`<${PanelForm} form=${form} title=${t('flags.override')}
    on_submit=${async (values, key) => {
      await api.post(overrides_of(flag), values, { idempotency_key: key });
      on_done('feature_flags.override_set');
    }}>
    <${OrgField} form=${form} />
    <${Field} form=${form} name="enabled" type="checkbox" label=${t('settings.on')} />
    <div class="actions"><${Submit} form=${form}>${t('flags.override')}<//></div><//>`;
}

function Flag({ flag, on_done }) {
  const t = useWords();
  const pages = usePages(overrides_of(flag));
  const done = (action) => {
    pages.reload();
    on_done(action);
  };
  const remove = async (row) => {
    const is_done = await ask_and_do({
      title: `${t('money.override_end')}: ${flag}`,
      action: t('money.override_end'),
      text: t('flags.override_end_text', { key: flag, org: row.org_id }),
      work: () => api.del(`${overrides_of(flag)}/${row.org_id}`),
    });
    if (is_done) done('feature_flags.override_deleted');
  };
  const columns = [
    {
      title: t('org'),
      is_title: true,
      is_wide: true,
      cell: (row) => html`<code>${row.org_id}</code>`,
    },
    { title: t('settings.value'), cell: (row) => word_of(t, row.enabled) },
    {
      title: t('users.since'),
      is_time: true,
      cell: (row) => html`<${Day} at=${row.created_at} />`,
    },
    {
      title: '',
      cell: (row) => html`<button type="button" class="small danger"
        aria-label=${`${t('money.override_end')}: ${row.org_id}`} onClick=${() => remove(row)}>
        ${t('money.override_end')}</button>`,
    },
  ];
  return html`<h2>${t('flags.overrides', { key: flag })}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('flags.overrides', { key: flag })}
      key_of=${(row) => row.org_id} />
    <div class="panels"><${Why} flag=${flag} /><${Override} flag=${flag} on_done=${done} /></div>`;
}

export function Flags({ query }) {
  const t = useWords();
  const pages = usePages('/v1/feature-flags');
  const changes = useLastChanges(['feature_flags.create', 'feature_flags.update']);
  const done = (action) => {
    pages.reload();
    changes.reload();
    show_change({ action });
  };
  const turn = async (flag) => {
    const default_value = !flag.default_value;
    const value = word_of(t, default_value);
    const question = {
      title: `${turn_word(t, flag)}: ${flag.key}`,
      action: turn_word(t, flag),
      text: t('flags.flip_text', { key: flag.key, value }),
    };
    const work = () => api.patch(path_of(flag.key), { default_value });
    const is_done = await ask_and_do({ ...question, work });
    if (is_done) done('feature_flags.update');
  };
  const remove = async (flag) => {
    const question = {
      title: t('flags.delete'),
      action: t('flags.delete'),
      text: t('flags.delete_text', { key: flag.key }),
      typed: flag.key,
    };
    if (!(await ask_and_do({ ...question, work: () => api.del(path_of(flag.key)) }))) return;
    set_query({ flag: '' });
    done('feature_flags.delete');
  };
  const columns = [
    {
      title: t('flags.key'),
      is_title: true,
      is_wide: true,
      cell: (flag) => html`<button type="button" class="link"
        aria-pressed=${flag.key === query.flag ? 'true' : 'false'}
        onClick=${() => set_query({ flag: flag.key })}><code>${flag.key}</code></button>`,
    },
    {
      title: t('flags.about'),
      is_wide: true,
      cell: (flag) => html`<bdi>${flag.description}</bdi>`,
    },
    { title: t('flags.default'), cell: (flag) => word_of(t, flag.default_value) },
    {
      title: t('settings.last_change'),
      cell: (flag) => html`<${LastChange} row=${changes.rows.get(flag.key)} />`,
    },
    {
      title: '',
      cell: (flag) => html`<span class="row-actions"><button type="button" class="small"
          onClick=${() => turn(flag)}
          aria-label=${`${turn_word(t, flag)}: ${flag.key}`}>${turn_word(t, flag)}</button>
        <button type="button" class="small danger" onClick=${() => remove(flag)}
          aria-label=${`${t('flags.delete')}: ${flag.key}`}>${t('flags.delete')}</button></span>`,
    },
  ];
  return html`<h1>${t('flags.title')}</h1><${Changed} />
    <${Table} pages=${pages} columns=${columns} label=${t('flags.title')}
      empty=${{
        text: t('flags.empty'),
        action: t('flags.first'),
        on_action: () => focus_form(t('flags.new')),
      }} />
    ${
      query.flag &&
      html`<${Flag} flag=${query.flag} on_done=${(action) => show_change({ action })}
        key=${query.flag} />`
    }
    <${NewFlag} on_done=${done} />`;
}
