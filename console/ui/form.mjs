// Forms: values, one sending at a time, and the service's faults beside the fields that they are
// of.
import { error_of } from '../error.mjs';
import { createContext, html, useContext, useEffect, useId, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { ErrorBox } from './error.mjs';

// {values, set(name, value), error, set_error, is_busy, submit(work), reset(next)}. `submit` runs
// `work(values, key)` unless it runs already; what it throws stands in `error`. `key` is an
// Idempotency-Key: the same one while the same values are sent again after an error, so that
// nothing is made twice.
export function useForm(first) {
  const [values, set_values] = useState(first);
  const [error, set_error] = useState(null);
  const [is_busy, set_busy] = useState(false);
  const running = useRef(false);
  const key = useRef(crypto.randomUUID());
  const renew_key = () => {
    key.current = crypto.randomUUID();
  };
  return {
    values,
    error,
    is_busy,
    set(name, value) {
      renew_key();
      set_values((before) => ({ ...before, [name]: value }));
    },
    set_error,
    reset(next = first) {
      set_values(next);
      set_error(null);
    },
    async submit(work) {
      if (running.current) return;
      running.current = true;
      set_busy(true);
      set_error(null);
      try {
        await work(values, key.current);
        renew_key();
      } catch (thrown) {
        set_error(error_of(thrown));
      } finally {
        running.current = false;
        set_busy(false);
      }
    },
  };
}

// A code as it was meant: mails and telephones put spaces around it, and into it.
export const without_spaces = (text) => text.replace(/\s/g, '');

// A form whose values are reset whenever `values` change: those that stand in the address.
export function useFormOf(values) {
  const form = useForm(values);
  const text = JSON.stringify(values);
  const seen = useRef(text);
  useEffect(() => {
    if (seen.current === text) return;
    seen.current = text;
    form.reset(values);
  }, [text]);
  return form;
}

// The items of a field that takes several, separated by white space or commas.
/** @param {string} text */
export const list_in = (text) => text.split(/[\s,]+/).filter(Boolean);

// The members of `body` that are others than in `first`: what somebody else changed meanwhile stays
// as they made it. null: nothing was changed.
/** @returns {any} */
export function changes_of(body, first) {
  const is_changed = ([name, value]) =>
    value !== undefined && JSON.stringify(value) !== JSON.stringify(first[name]);
  const changed = Object.entries(body).filter(is_changed);
  return changed.length > 0 ? Object.fromEntries(changed) : null;
}

// `on_submit(values, key)` may throw. Fields of the form name themselves with `name`.
export function Form({ form, on_submit, children, label }) {
  const itself = useRef(null);
  // Errors without a field of their own are shown below all fields.
  const fields = Object.keys(form.values).filter((name) =>
    itself.current?.elements.namedItem(name),
  );
  // Moves the focus to the first invalid field.
  useEffect(() => {
    if (form.error) itself.current.querySelector('[aria-invalid]')?.focus();
  }, [form.error]);
  return html`<form novalidate ref=${itself} aria-label=${label}
    aria-busy=${form.is_busy} onSubmit=${(event) => {
    event.preventDefault();
    form.submit(on_submit);
  }}>
    ${children}
    <${ErrorBox} error=${form.error} hides_fields=${fields} />
  </form>`;
}

// A labelled input, or with `options` ([value, text]) a list to choose from, or with `rows` a text
// area. `type="checkbox"` holds a boolean. `takes_focus`: takes the focus when it appears (a
// browser heeds `autofocus` once a page, and in dialogs when they open).
export function Field({
  form,
  name,
  label,
  hint,
  type = 'text',
  options,
  rows,
  on_change,
  takes_focus = false,
  ...others
}) {
  const id = useId();
  const itself = useRef(null);
  useEffect(() => {
    if (takes_focus) itself.current.focus();
  }, []);
  const fault = form.error?.errors.find((each) => each.field === name);
  const change = (value) => {
    form.set(name, value);
    on_change?.(value);
  };
  const notes = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const common = {
    id,
    name,
    ref: itself,
    'aria-describedby': notes || undefined,
    'aria-invalid': fault ? 'true' : undefined,
    ...others,
  };
  const below = html`${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${fault && html`<p class="fault" id=${`${id}-fault`}>${fault.message}</p>`}`;
  const value = form.values[name];
  const on_input = (event) => change(event.currentTarget.value);
  if (type === 'checkbox') {
    return html`<div class="field check"><input type="checkbox" ...${common} checked=${value}
        onChange=${(event) => change(event.currentTarget.checked)} />
      <label for=${id}>${label}</label>${below}</div>`;
  }
  let input;
  if (options) {
    input = html`<select ...${common} value=${value} onChange=${on_input}>${options.map(
      ([key, text]) => html`
      <option value=${key} selected=${key === value}>${text}</option>`,
    )}</select>`;
  } else if (rows) {
    input = html`<textarea ...${common} rows=${rows} value=${value}
      onInput=${on_input}></textarea>`;
  } else {
    input = html`<input type=${type} ...${common} value=${value} onInput=${on_input} />`;
  }
  return html`<div class="field"><label for=${id}>${label}</label>${input}${below}</div>`;
}

// How the dialog around a form closes; null outside of dialogs.
export const Closing = createContext(null);

// The button that sends the form, and beside it Cancel where the form is in a dialog.
export function Submit({ form, children, kind = 'main', disabled = false }) {
  const t = useWords();
  const closing = useContext(Closing);
  const close = kind === 'link' ? null : closing;
  return html`<button class=${kind} disabled=${disabled || form.is_busy}>${
    form.is_busy ? t('working') : children
  }</button>${close && html`<button type="button" onClick=${close}>${t('cancel')}</button>`}`;
}
