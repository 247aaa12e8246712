// Personas: the list; one with its editor, a try-it pane beside it, and versions side by side.
// `?scope=platform`: those that every organization may use.
import { all_pages, api, with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go, set_query } from '../router.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/org_personas.mjs';
import { Changed, show_change } from './change.mjs';
import { Differences } from './diff.mjs';
import { ask_and_do } from './parts.mjs';
import { PersonaForm } from './persona_form.mjs';
import { History, ScopeTabs, scope_of, scope_query } from './scope.mjs';
import { TryPane } from './try_pane.mjs';

const name_of = (one) => `${one.persona_key}@${one.version}`;
function Back({ scope }) {
  const t = useWords();
  return html`<p><a href=${address('/personas', scope_query(scope))}>
    ← ${t('personas.title')}</a></p>`;
}
const unlike = ['id', 'scope', 'version', 'created_at', 'persona_key'];

/** @param {{params?: any, query?: any}} props */
export function Personas({ query = {} }) {
  const t = useWords();
  const scope = scope_of(query);
  const pages = usePages(with_query('/v1/personas', { scope }));
  const shared = usePages(
    scope === 'org' ? with_query('/v1/personas', { scope: 'platform' }) : null,
  );
  const open_new = () => go('/personas/new', scope_query(scope));
  const command = { id: 'new persona', keys: 'n', label: () => t('personas.new'), run: open_new };
  useCommands([command], [scope]);
  const columns = [
    {
      title: t('personas.persona'),
      is_title: true,
      cell: (one) =>
        one.scope === scope
          ? html`<a href=${address(`/personas/${one.id}`, scope_query(scope))}>
            <code>${name_of(one)}</code></a>`
          : html`<code>${name_of(one)}</code> <span class="mark">${t('scope.platform')}</span>`,
    },
    {
      title: t('org_ui.name'),
      is_wide: true,
      cell: (one) => html`<bdi>${one.display_name}</bdi>${
        one.description && html` <bdi class="dim">${one.description}</bdi>`
      }`,
    },
    { title: t('personas.model'), cell: (one) => html`<bdi>${one.model}</bdi>` },
    {
      title: t('personas.tools'),
      is_wide: true,
      cell: (one) => html`<bdi>${one.tools.join(', ')}</bdi>`,
    },
    {
      title: t('org_ui.state'),
      cell: (one) => !one.is_active && html`<span class="mark warn">${t('org_ui.inactive')}</span>`,
    },
    {
      title: t('personas.made'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
  ];
  return html`<div class="head"><h1>${t('personas.title')}</h1><${ScopeTabs} scope=${scope} />
      <span class="space"></span>
      <${Adder} pages=${pages} on_click=${open_new}>
        ${t('personas.new')}<//></div>
    <${Changed} />
    <${Table} pages=${pages} columns=${columns} label=${t('personas.title')} empty=${{
      text: t('personas.empty'),
      action: t('personas.new'),
      on_action: open_new,
    }} />
    ${
      scope === 'org' &&
      html`<h2>${t('personas.of_platform')}</h2>
      <${Table} pages=${shared} columns=${columns} label=${t('personas.of_platform')} />`
    }`;
}

// All of the scope: there is no call for one.
/** @param {'org' | 'platform'} scope */
function usePersonas(scope) {
  const [state, set_state] = useState({ items: null, error: null });
  const newest = useRef(0);
  const load = async () => {
    const mine = ++newest.current;
    const show = (next) => mine === newest.current && set_state(next);
    try {
      const items = await all_pages(with_query('/v1/personas', { scope, limit: 200 }));
      show({ items: items.filter((one) => one.scope === scope), error: null });
    } catch (error) {
      show({ items: null, error });
    }
  };
  useEffect(() => {
    load();
  }, [scope]);
  return { ...state, reload: load };
}

// `/personas/new`; with `from` in the query a further version of that one, with `tools` one that
// has these.
/** @param {{params?: any, query?: any}} props */
export function NewPersona({ query = {} }) {
  const t = useWords();
  const scope = scope_of(query);
  const found = usePersonas(scope);
  if (found.error) return html`<${ErrorBox} error=${found.error} on_retry=${found.reload} />`;
  if (!found.items) return html`<p class="dim working">${t('loading')}</p>`;
  const from = found.items.find((one) => one.id === query.from);
  const next = from
    ? { ...from, version: next_version(from, found.items) }
    : { tools: (query.tools ?? '').split(' ').filter(Boolean) };
  const title = t(from ? 'personas.new_version' : 'personas.new');
  const draft_key = `new ${scope} ${query.from ?? ''} ${query.tools ?? ''}`;
  return html`<${Back} scope=${scope} />
    <div class="head"><h1>${title}</h1>${from && html`<code>${name_of(from)}</code>`}</div>
    <section class="panel wide"><${PersonaForm} persona=${next} is_new action=${t('org_ui.add')}
      draft_key=${draft_key} scope=${scope} key=${draft_key}
      on_submit=${async (body, key) => {
        const options = { query: { scope }, idempotency_key: key };
        const { body: made } = await api.post('/v1/personas', body, options);
        go(`/personas/${made.id}`, scope_query(scope), { replace: true });
        await show_change({ action: 'personas.create', target_id: made.id });
      }} /></section>`;
}

function next_version(from, all) {
  const versions = all
    .filter((one) => one.persona_key === from.persona_key)
    .map((one) => Number(one.version))
    .filter(Number.isFinite);
  return String(Math.max(0, ...versions) + 1);
}

// Another version of the same key beside this one.
function Versions({ persona, others, chosen }) {
  const t = useWords();
  const other = others.find((one) => one.id === chosen);
  if (!others.length) return null;
  const [old_one, new_one] =
    other && other.created_at < persona.created_at ? [other, persona] : [persona, other];
  return html`<section class="versions"><h2>${t('personas.compare')}</h2>
    <div class="filters"><div class="field"><label for="other-version">${t(
      'personas.compare_with',
    )}</label><select id="other-version" value=${chosen ?? ''}
      onChange=${(event) => set_query({ with: event.currentTarget.value })}>
      <option value="">${t('none')}</option>
      ${others.map(
        (one) => html`<option value=${one.id} selected=${one.id === chosen}>${name_of(one)}
        </option>`,
      )}</select></div></div>
    ${
      other &&
      html`<${Differences} before=${old_one} after=${new_one} left_out=${unlike}
      names=${[name_of(old_one), name_of(new_one)]} />`
    }</section>`;
}

function Editor({ persona, others, chosen, scope, on_saved }) {
  const t = useWords();
  const [is_dirty, set_dirty] = useState(false);
  const [saves, set_saves] = useState(0);
  const remove = async () => {
    const is_gone = await ask_and_do({
      title: t('personas.remove'),
      text: t('personas.remove_text', { persona: name_of(persona) }),
      action: t('personas.remove'),
      work: () => api.del(`/v1/personas/${persona.id}`, undefined, { query: { scope } }),
    });
    if (!is_gone) return;
    go('/personas', scope_query(scope), { replace: true });
    await show_change({ action: 'personas.delete', target_id: persona.id });
  };
  const save = async (changes) => {
    if (!changes) return;
    const { body: saved } = await api.patch(`/v1/personas/${persona.id}`, changes, {
      query: { scope },
    });
    on_saved(saved);
    set_saves(saves + 1);
    toast(t('saved'));
    await show_change({ action: 'personas.update', target_id: persona.id });
  };
  return html`<${Back} scope=${scope} />
    <div class="head"><h1><bdi>${persona.display_name || persona.persona_key}</bdi></h1>
      <code>${name_of(persona)}</code><span class="space"></span>
      <${History} target_type="persona" target_id=${persona.id} scope=${scope} />
      <a class="button" href=${address('/personas/new', {
        from: persona.id,
        ...scope_query(scope),
      })}>
        ${t('personas.new_version')}</a>
      <button type="button" class="danger" onClick=${remove}>${t('personas.remove')}</button></div>
    <${Changed} />
    <div class="beside"><section class="panel wide"><${PersonaForm} persona=${persona}
        draft_key=${persona.id} scope=${scope} action=${t('save')} on_dirty=${set_dirty}
        on_submit=${save} key=${saves} /></section>
      <${TryPane} persona=${name_of(persona)}
        hint=${t(is_dirty ? 'personas.try_saved' : 'try.hint')} /></div>
    <${Versions} persona=${persona} others=${others} chosen=${chosen} />`;
}

/** @param {{params?: any, query?: any}} props */
export function Persona({ params, query = {} }) {
  const t = useWords();
  const scope = scope_of(query);
  const found = usePersonas(scope);
  const [saved, set_saved] = useState(null);
  if (found.error) return html`<${ErrorBox} error=${found.error} on_retry=${found.reload} />`;
  if (!found.items) return html`<p class="dim working">${t('loading')}</p>`;
  const persona = saved ?? found.items.find((one) => one.id === params.persona_id);
  if (!persona) return html`<h1>${t('personas.gone')}</h1>
    <${Back} scope=${scope} />`;
  const others = found.items.filter(
    (one) => one.persona_key === persona.persona_key && one.id !== persona.id,
  );
  return html`<${Editor} persona=${persona} others=${others} chosen=${query.with} scope=${scope}
    on_saved=${set_saved} />`;
}
