// A server of tools asks before it answers a call: its form, or a refusal. Used by wait_card.
import { html, useEffect, useId, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { is_writing } from '../ui/focus.mjs';
import {
  answer_run,
  input_bytes_max,
  is_too_long,
  on_ctrl_enter,
  useAnswer,
} from './answering.mjs';
import { content_of, fields_of } from './form_fields.mjs';
import { read_json, show_json } from './show_json.mjs';

function Choices({ field, value, on_change, ...others }) {
  return html`<fieldset ...${others}><legend>${field.label}</legend>${field.options.map(
    ([option, words]) => html`<label class="check" key=${option}><input type="checkbox"
      checked=${value.includes(option)}
      onChange=${(event) =>
        on_change(
          event.currentTarget.checked
            ? [...value, option]
            : value.filter((other) => other !== option),
        )} /> <bdi>${words}</bdi></label>`,
  )}</fieldset>`;
}

function FormField({ field, value, on_change, is_first, is_locked }) {
  const t = useWords();
  const id = useId();
  const input = useRef(null);
  useEffect(() => {
    if (is_first && !is_writing()) input.current?.focus({ preventScroll: true });
  }, []);
  const { kind, label, hint, options, is_required } = field;
  const common = { id, ref: input, disabled: is_locked, 'aria-describedby': hint && `${id}-hint` };
  const words = html`<bdi>${label}</bdi>${
    !is_required && kind !== 'boolean' && html` <span class="dim">${t('chat.optional')}</span>`
  }`;
  const note = hint && html`<p class="hint" id=${`${id}-hint`} dir="auto">${hint}</p>`;
  if (kind === 'choices') {
    return html`<div class="field"><${Choices} field=${field} value=${value}
      on_change=${on_change} disabled=${is_locked} />${note}</div>`;
  }
  if (kind === 'boolean') {
    return html`<div class="field check"><input type="checkbox" ...${common} checked=${value}
      onChange=${(event) => on_change(event.currentTarget.checked)} /><label for=${id}>
      ${words}</label>${note}</div>`;
  }
  const on_input = (event) => on_change(event.currentTarget.value);
  return html`<div class="field"><label for=${id}>${words}</label>${
    kind === 'choice'
      ? html`<select ...${common} value=${value} onChange=${on_input}>
        ${(!is_required || field.first === '') && html`<option value="">–</option>`}
        ${options.map(([option, shown]) => html`<option value=${option}>${shown}</option>`)}
      </select>`
      : html`<input ...${common} dir="auto" inputmode=${kind === 'number' ? 'decimal' : undefined}
        value=${value} onInput=${on_input} />`
  }${note}</div>`;
}

const first_values = (fields) => Object.fromEntries(fields.map(({ name, first }) => [name, first]));

export function Elicitation({ run_id, wait, may_focus }) {
  const t = useWords();
  const id = useId();
  const [fields] = useState(() => fields_of(wait.schema));
  const [values, set_values] = useState(() => first_values(fields ?? []));
  const [text, set_text] = useState('{}');
  const { is_locked, is_sent, problem, send } = useAnswer((given) =>
    answer_run(run_id, wait, given),
  );
  const typed = () => {
    const { value, problem: fault } = read_json(text);
    return fault === undefined ? { content: value } : { fault };
  };
  const { content, fault } = fields ? content_of(fields, values) : typed();
  const answer = show_json({ action: 'accept', content }, 0);
  const is_bad = fault !== undefined || is_too_long(answer);
  const submit = () => is_bad || is_locked || send(answer);
  return html`<form class="wait" onSubmit=${(event) => (event.preventDefault(), submit())}>
    <p>${t('chat.wait.elicitation')} <code dir="ltr">${wait.name}</code></p>
    <p dir="auto" class="asked">${wait.message}</p>
    ${
      fields
        ? fields.map(
            (field, at) => html`<${FormField} key=${field.name} field=${field}
            value=${values[field.name]} is_first=${may_focus && at === 0} is_locked=${is_locked}
            on_change=${(value) => set_values({ ...values, [field.name]: value })} />`,
          )
        : html`<label for=${id}>${t('chat.content')}</label>
        <textarea id=${id} class="code" dir="ltr" rows="4" spellcheck=${false} value=${text}
          disabled=${is_locked} aria-invalid=${fault !== undefined}
          onInput=${(event) => set_text(event.currentTarget.value)}
          onKeyDown=${on_ctrl_enter(submit)} />
        <details><summary>${t('chat.form_schema')}</summary><pre dir="ltr" tabindex="0">
          ${show_json(wait.schema)}</pre></details>`
    }
    ${fault && !fields && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      is_too_long(answer) &&
      html`<p class="fault">${t('chat.too_long', { count: input_bytes_max })}</p>`
    }
    <${ErrorBox} error=${problem} />
    <div class="row"><button class="main" disabled=${is_locked || is_bad}>
        ${t(is_sent ? 'chat.sent' : 'chat.answer')}</button>
      <button type="button" disabled=${is_locked}
        onClick=${() => send('{"action":"decline"}')}>${t('chat.decline')}</button>
      <button type="button" class="quiet" disabled=${is_locked}
        onClick=${() => send('{"action":"cancel"}')}>${t('chat.cancel_question')}</button></div>
  </form>`;
}
