// What the platform's screens are made of beside ui/ and org/: a list that came whole, a form in a
// panel that changes something.
import { html } from '../html.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Form } from '../ui/form.mjs';

// What Table wants, of items that came in one answer (useCall).
export const whole_list = (call, items = call.body ?? []) => ({
  items,
  has_more: false,
  is_loading: call.is_loading,
  error: call.error,
  again: call.reload,
});

// A form in a panel of its own; `on_submit(values, key)` may want a fresh login.
export function PanelForm({ form, title, on_submit, children, text }) {
  return html`<section class="panel"><h2>${title}</h2>${text && html`<p>${text}</p>`}
    <${Form} form=${form} label=${title}
      on_submit=${(values, key) => with_fresh_login(() => on_submit(values, key))}>
      ${children}<//></section>`;
}

// A text that is a number, else undefined; for members that may be left out.
export const number_or_none = (text) => (String(text).trim() === '' ? undefined : Number(text));
