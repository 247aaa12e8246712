// A test call of a webhook tool: a run with a persona that has it. Where none has, one is offered
// to be made that has this tool alone.
import { all_pages, api, with_query } from '../api.mjs';
import { changed } from '../chat/service.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { ErrorBox } from '../ui/error.mjs';
import '../words/org_tools.mjs';
import { TryPane } from './try_pane.mjs';

const name_of = (one) => `${one.persona_key}@${one.version}`;

// An argument of the kind that a schema wants, for the message to begin with.
function example_of(schema) {
  if (schema?.examples?.length) return schema.examples[0];
  if (schema?.enum?.length) return schema.enum[0];
  const kind = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  const examples = { integer: 1, number: 1, boolean: true, array: [], object: {} };
  return examples[kind] ?? 'text';
}
const example_arguments = ({ properties = {} }) =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(properties).map(([key, schema]) => [key, example_of(schema)]),
    ),
  );

/** @param {{scope?: 'org' | 'platform', [more: string]: any}} props */
export function TryTool({ tool, scope, on_close }) {
  const t = useWords();
  const [state, set_state] = useState({ personas: null, error: null });
  const [chosen, set_chosen] = useState('');
  const [key] = useState(() => crypto.randomUUID());
  const heading = useRef(null);
  const load = async () => {
    try {
      const all = await all_pages(with_query('/v1/personas', { scope, limit: 200 }));
      const personas = all.filter((one) => one.is_active && one.tools.includes(tool.name));
      set_state({ personas, error: null });
      set_chosen(personas.length ? name_of(personas[0]) : '');
    } catch (error) {
      set_state({ personas: null, error });
    }
  };
  useEffect(() => {
    load();
    heading.current.focus();
  }, []);
  const make = async () => {
    try {
      const persona = {
        persona_key: `try_${tool.name}`.slice(0, 64).toLowerCase(),
        version: '1',
        display_name: t('tools.try_persona', { name: tool.name }),
        system_prompt: `Call the tool ${tool.name} as the user says, then tell what it answered.`,
        tools: [tool.name],
      };
      // One persona, however often it is clicked.
      await api.post('/v1/personas', persona, { query: { scope }, idempotency_key: key });
      changed('choices');
      await load();
    } catch (error) {
      set_state({ ...state, error });
    }
  };
  const { personas, error } = state;
  const message = t('tools.try_message', {
    name: tool.name,
    arguments: example_arguments(tool.parameters),
  });
  return html`<section class="try-tool" aria-label=${`${t('tools.try')}: ${tool.name}`}>
    <div class="head"><h2 tabindex="-1" ref=${heading}>${t('tools.try')}: <code>${
      tool.name
    }</code></h2><span class="space"></span>
      <button type="button" class="small" onClick=${on_close}>${t('close')}</button></div>
    <${ErrorBox} error=${error} on_retry=${load} />
    ${!personas && !error && html`<p class="dim working">${t('loading')}</p>`}
    ${
      personas?.length === 0 &&
      html`<p>${t('tools.no_persona')}</p><div class="actions">
      <button type="button" class="main" onClick=${make}>${t('tools.make_persona')}</button></div>`
    }
    ${
      personas?.length > 1 &&
      html`<div class="filters"><div class="field"><label for="try-persona">${t(
        'tools.persona',
      )}</label><select id="try-persona" value=${chosen}
        onChange=${(event) => set_chosen(event.currentTarget.value)}>${personas.map(
          (one) =>
            html`<option value=${name_of(one)} selected=${name_of(one) === chosen}>${name_of(
              one,
            )}</option>`,
        )}</select></div></div>`
    }
    ${chosen && html`<${TryPane} persona=${chosen} first=${message} key=${chosen} />`}
  </section>`;
}
