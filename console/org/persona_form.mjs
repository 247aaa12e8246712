// The form of a persona: a new one, a further version, or changes of one that is there.
import { acting_org, all_pages, with_query } from '../api.mjs';
import { html, useEffect, useLayoutEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { watch_session } from '../token.mjs';
import { changes_of, Field, Form, list_in, Submit, useForm } from '../ui/form.mjs';
import '../words/org_personas.mjs';
import { FallbackRoutes } from './fallback_routes.mjs';
import { object_in } from './parts.mjs';

const empty = {
  persona_key: '',
  version: '1',
  display_name: '',
  description: '',
  system_prompt: '',
  tools: [],
  confirm_tools: [],
  model: null,
  fallback_routes: [],
  max_turns: null,
  temperature: null,
  response_format: null,
  is_active: true,
};
const number_of = (text) => (text === '' ? null : Number(text));

const fields_of = (persona) => ({
  ...persona,
  tools: persona.tools.join('\n'),
  confirm_tools: persona.confirm_tools.join('\n'),
  model: persona.model ?? '',
  fallback_routes: persona.fallback_routes.join('\n'),
  max_turns: persona.max_turns === null ? '' : String(persona.max_turns),
  temperature: persona.temperature === null ? '' : String(persona.temperature),
  response_format: persona.response_format
    ? JSON.stringify(persona.response_format, null, 2)
    : '',
});

function body_of(values) {
  return {
    display_name: values.display_name,
    description: values.description,
    system_prompt: values.system_prompt,
    tools: list_in(values.tools),
    confirm_tools: list_in(values.confirm_tools),
    model: values.model || null,
    fallback_routes: list_in(values.fallback_routes),
    max_turns: number_of(values.max_turns),
    temperature: number_of(values.temperature),
    response_format: values.response_format.trim()
      ? object_in(values.response_format, 'response_format')
      : null,
    is_active: values.is_active,
  };
}

// The models that may be chosen, and their names; what the persona has stays to choose.
function useModels(chosen) {
  const [models, set_models] = useState([]);
  useEffect(() => {
    all_pages(with_query('/v1/models', { limit: 200 })).then(set_models, () => set_models([]));
  }, []);
  const names = [...new Set([chosen, ...models.map((one) => one.model)].filter(Boolean))];
  return { models, names };
}

// Unsaved text, by organization and form: an hour of work on a prompt outlives a change of the
// screen, as drafts of messages do, but not the page and not the session.
const drafts = new Map();
watch_session((what) => what === 'out' && drafts.clear());

// `persona`: what the fields begin with. `is_new`: key and version are asked too. `draft_key` tells
// the forms of an organization apart. `on_submit(body, key)`, of one that is there its changes or
// null; `on_dirty(is_dirty)` tells whether
// something is not saved. `scope`: whose persona it is.
export function PersonaForm({
  persona = empty,
  is_new = false,
  draft_key,
  scope,
  action,
  on_submit,
  on_dirty,
}) {
  const t = useWords();
  const first = fields_of({ ...empty, ...persona });
  const draft_of = `${acting_org()} ${draft_key}`;
  const form = useForm({ ...first, ...drafts.get(draft_of) });
  const { models, names } = useModels(form.values.model);
  const changes = Object.entries(form.values).filter(([name, value]) => value !== first[name]);
  const is_dirty = changes.length > 0;
  useEffect(() => on_dirty?.(is_dirty), [is_dirty]);
  // Before the next thing that the user does, which may be to leave.
  useLayoutEffect(() => {
    if (is_dirty) drafts.set(draft_of, Object.fromEntries(changes));
    else drafts.delete(draft_of);
  }, [form.values]);
  const send = async (values, key) => {
    const { persona_key, version } = values;
    const draft = drafts.get(draft_of);
    // The next form begins with the saved values.
    drafts.delete(draft_of);
    try {
      const body = body_of(values);
      if (is_new) await on_submit({ persona_key, version, ...body }, key);
      else await on_submit(changes_of(body, body_of(first)), key);
    } catch (error) {
      if (draft) drafts.set(draft_of, draft);
      throw error;
    }
  };
  const plain = { form, autocomplete: 'off', spellcheck: 'false' };
  return html`<${Form} form=${form} label=${action} on_submit=${send}>
    ${
      is_new &&
      html`<div class="pairs">
      <${Field} ...${plain} name="persona_key" label=${t('personas.key')} maxlength="64" autofocus
        hint=${t('personas.key_hint')} />
      <${Field} ...${plain} name="version" label=${t('personas.version')} maxlength="64" /></div>`
    }
    <${Field} form=${form} name="display_name" label=${t('org_ui.name')} dir="auto"
      maxlength="200" autocomplete="off" />
    <${Field} form=${form} name="description" label=${t('personas.description')} dir="auto"
      autocomplete="off" />
    <${Field} form=${form} name="system_prompt" label=${t('personas.prompt')} rows="12"
      dir="auto" />
    <${Field} ...${plain} name="tools" label=${t('personas.tools')} rows="3"
      hint=${t('personas.tools_hint')} />
    <${Field} ...${plain} name="confirm_tools" label=${t('personas.confirm_tools')} rows="2"
      hint=${t('personas.confirm_hint')} />
    <div class="pairs">
      <${Field} form=${form} name="model" label=${t('personas.model')}
        options=${[['', t('personas.any_model')], ...names.map((name) => [name, name])]} />
      <${Field} form=${form} name="max_turns" type="number" min="1" label=${t('personas.turns')} />
      <${Field} form=${form} name="temperature" type="number" min="0" step="any"
        label=${t('personas.temperature')} />
    </div>
    <${FallbackRoutes} form=${form} models=${
      scope === 'platform' ? models.filter((one) => one.scope === 'platform') : models
    } />
    <${Field} ...${plain} name="response_format" label=${t('personas.format')} rows="3"
      hint=${t('personas.format_hint')} />
    <${Field} form=${form} name="is_active" type="checkbox" label=${t('org_ui.active')}
      hint=${t('personas.active_hint')} />
    <div class="actions"><${Submit} form=${form}>${action}<//>
      ${
        is_dirty &&
        html`<span class="dim" role="status">${t('personas.not_saved')}</span>
        <button type="button" class="small quiet"
          onClick=${() => form.reset(first)}>${t('personas.discard')}</button>`
      }</div>
  <//>`;
}
