// Where a message is written: the text, who answers it, and what a run may be given besides. Used
// by chat.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { keep, kept_setting } from '../settings.mjs';
import { watch_changes } from './service.mjs';
import { read_json } from './show_json.mjs';
import { acting_org, all_pages, with_query } from '../api.mjs';
import { watch_session } from '../token.mjs';
import { is_writing } from '../ui/focus.mjs';

const message_bytes_max = 65_536;
const bytes_of = (text) => new TextEncoder().encode(text).length;

// Drafts outlive a change of the screen, not of the page and not of the session: what somebody
// writes is theirs alone.
const drafts = new Map();

// Text that was not sent goes before what has been written since.
export function give_back(draft_key, text) {
  const written = drafts.get(draft_key);
  drafts.set(draft_key, written ? `${text}\n${written}` : text);
}

// Personas and models that the caller may choose; read once for an organization, and again behind a
// change of them in this browser.
let choices = null;
let choices_of = '';
const forget_choices = () => (choices = null);
watch_changes(['choices'], forget_choices);
watch_session((what) => {
  if (what !== 'out') return;
  drafts.clear();
  forget_choices();
});

export function useChoices() {
  const [loaded, set_loaded] = useState({ personas: [], models: [] });
  useEffect(() => {
    let is_gone = false;
    if (choices_of !== acting_org()) forget_choices();
    choices_of = acting_org();
    choices ??= Promise.all([
      all_pages(with_query('/v1/personas', { scope: 'org', limit: 200 })),
      all_pages(with_query('/v1/personas', { scope: 'platform', limit: 200 })),
      all_pages(with_query('/v1/models', { limit: 200 })),
    ]);
    choices.then(
      ([own, platform, models]) => {
        const personas = new Map(
          [...platform, ...own]
            .filter(({ is_active }) => is_active)
            .map((persona) => [`${persona.persona_key}@${persona.version}`, persona]),
        );
        if (!is_gone) set_loaded({ personas: [...personas.entries()], models });
      },
      forget_choices,
    );
    return () => (is_gone = true);
  }, []);
  return loaded;
}

const further_fields = ['tools', 'response_format', 'metadata'];

// The body of POST …/runs without what was left empty; `fault` names the field that is no JSON.
export function run_options({ persona_id, route_id, multitask_strategy, further }) {
  const options = {};
  if (persona_id) options.persona_id = persona_id;
  if (route_id) options.route_id = route_id;
  if (multitask_strategy) options.multitask_strategy = multitask_strategy;
  for (const name of further_fields) {
    const text = further[name]?.trim() ?? '';
    if (text === '') continue;
    const { value, problem } = read_json(text);
    if (problem !== undefined) return { fault: `${name}: ${problem}` };
    options[name] = value;
  }
  return { options };
}

function Further({ further, set_further, fault }) {
  const t = useWords();
  const id = useId();
  return html`<details class="further">
    <summary>${t('chat.further')}</summary>
    ${further_fields.map(
      (name) => html`<div class="field">
      <label for=${`${id}${name}`}>${t(`chat.further.${name}`)}</label>
      <textarea id=${`${id}${name}`} class="code" dir="ltr" rows="2" spellcheck=${false}
        value=${further[name] ?? ''}
        placeholder=${t(`chat.example.${name}`)}
        onInput=${(event) => set_further({ ...further, [name]: event.currentTarget.value })} />
    </div>`,
    )}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
  </details>`;
}

function Choice({ label, value, options, on_change }) {
  return html`<select aria-label=${label} title=${label} value=${value}
    onChange=${(event) => on_change(event.currentTarget.value)}>
    ${options.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}
  </select>`;
}

function useKept(name) {
  const [value, set_value] = useState(kept_setting(name) ?? '');
  const set = (next) => {
    keep(name, next || null);
    set_value(next);
  };
  return [value, set];
}

// `on_send(content, options)`; `is_busy`: a run is active, and the new one queues or interrupts;
// `draft_key` names the draft; `given`: text that comes back because it was not sent;
// `takes_focus`: who came here came to write. `on_answer(options)`: what was written last has no
// answer, and may get one.
export function Composer({
  draft_key,
  is_busy,
  is_locked,
  given,
  on_send,
  on_stop,
  on_answer = null,
  takes_focus = false,
  children,
}) {
  const t = useWords();
  const id = useId();
  const field = useRef(null);
  const { personas, models } = useChoices();
  const [text, set_text] = useState(drafts.get(draft_key) ?? '');
  const [persona_id, set_persona] = useKept('persona');
  const [route_id, set_route] = useKept('route');
  const [multitask_strategy, set_strategy] = useState('enqueue');
  const [further, set_further] = useState({});
  const write = (next) => {
    drafts.set(draft_key, next);
    set_text(next);
  };
  useEffect(() => set_text(drafts.get(draft_key) ?? ''), [draft_key]);
  useEffect(() => void (given && write(text ? `${given}\n${text}` : given)), [given]);
  useEffect(() => {
    if (takes_focus && !is_writing()) field.current.focus();
  }, [takes_focus]);
  // Grows with its text, up to the height that the style allows.
  useLayoutEffect(() => {
    field.current.style.height = 'auto';
    field.current.style.height = `${field.current.scrollHeight + 2}px`;
  }, [text]);

  // A choice that no longer exists counts as no choice.
  const known_persona = personas.some(([name]) => name === persona_id) ? persona_id : '';
  const known_route = models.some((model) => model.route_id === route_id) ? route_id : '';
  const { options, fault } = run_options({
    persona_id: known_persona,
    route_id: known_route,
    further,
    multitask_strategy: is_busy ? multitask_strategy : null,
  });
  const is_long = bytes_of(text) > message_bytes_max;
  const can_send = text.trim() !== '' && !is_locked && !is_long && fault === undefined;
  const send = () => {
    if (!can_send) return;
    on_send(text, options);
    write('');
  };
  const on_key = (event) => {
    // Enter that ends the choice of a character sends nothing.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229)
      return;
    event.preventDefault();
    send();
  };
  return html`<form class="composer" onSubmit=${(event) => (event.preventDefault(), send())}>
    ${children}
    <label class="unseen" for=${id}>${t('chat.message')}</label>
    <textarea id=${id} ref=${field} class="message" dir="auto" rows="2" value=${text}
      placeholder=${t('chat.placeholder')} onInput=${(event) => write(event.currentTarget.value)}
        onKeyDown=${on_key} />
    ${
      is_long &&
      html`<p class="fault"
      role="alert">${t('chat.too_long', { count: message_bytes_max })}</p>`
    }
    <div class="row">
      <${Choice} label=${t('chat.persona')} value=${known_persona} on_change=${set_persona}
        options=${[
          ['', t('chat.default_persona')],
          ...personas.map(([name, { display_name }]) => [
            name,
            display_name && display_name !== name ? `${display_name} (${name})` : name,
          ]),
        ]} />
      <${Choice} label=${t('chat.model')} value=${known_route} on_change=${set_route}
        options=${[
          ['', t('chat.default_model')],
          ...models.map((model) => [model.route_id, `${model.model} · ${model.provider_name}`]),
        ]} />
      ${
        is_busy &&
        html`<${Choice} label=${t('chat.strategy')} value=${multitask_strategy}
          on_change=${set_strategy}
        options=${['enqueue', 'interrupt'].map((name) => [name, t(`chat.strategy.${name}`)])} />`
      }
      <span class="space" />
      ${
        on_stop &&
        html`<button type="button" class="stop"
        onClick=${on_stop}>${t('chat.stop')}</button>`
      }
      ${
        on_answer &&
        html`<button type="button" disabled=${fault !== undefined}
        onClick=${() => on_answer(options)}>${t('chat.answer_it')}</button>`
      }
      <button class="main" disabled=${!can_send}>${t('chat.send')}</button>
    </div>
    <${Further} further=${further} set_further=${set_further} fault=${fault} />
  </form>`;
}
