// Parts of the platform's screens beside ui/ and org/: a list that came whole, a form in a panel
// that changes something.
import { html } from '../html.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Form } from '../ui/form.mjs';

// Pages for Table, made of items that came in one answer (useCall).
export const whole_list = (call, items = call.body ?? []) => ({
  items,
  has_more: false,
  is_loading: call.is_loading,
  error: call.error,
  again: call.reload,
});

// The day (2026-11-27) where the user is, and the moment when such a day begins there; '' for none:
// all times are shown by that clock.
export const day_of = (moment) =>
  new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
export const begin_of = (day) => (day ? new Date(`${day}T00:00:00`).toISOString() : '');

// A form in a panel of its own; `on_submit(values, key)` may want a fresh login.
export function PanelForm({ form, title, on_submit, children, text }) {
  return html`<section class="panel"><h2>${title}</h2>${text && html`<p>${text}</p>`}
    <${Form} form=${form} label=${title}
      on_submit=${(values, key) => with_fresh_login(() => on_submit(values, key))}>
      ${children}<//></section>`;
}

// A text that is a number; undefined for empty text, for members that may be left out. Text that is
// no number goes out unchanged, so that the service refuses it. So does a number that JavaScript
// would round.
/** @returns {any} */
export function number_or_none(text) {
  if (String(text).trim() === '') return undefined;
  const value = Number(text);
  const is_exact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return Number.isNaN(value) || !is_exact ? text : value;
}
