// Where the keyboard goes when something is edited in place: into the field, and back to the button
// when the field is gone.
import { useEffect, useRef } from '../html.mjs';

// Refs of both; `is_open`: whether the field is there.
export function useEditFocus(is_open) {
  const field = useRef(null);
  const opener = useRef(null);
  const was_open = useRef(is_open);
  useEffect(() => {
    if (is_open) field.current?.focus();
    else if (was_open.current) opener.current?.focus();
    was_open.current = is_open;
  }, [is_open]);
  return { field, opener };
}

// Leads the keyboard into the form of that name.
export function focus_form(name) {
  const form = [...document.forms].find((each) => each.getAttribute('aria-label') === name);
  /** @type {any} */ (form?.querySelector('input, select, textarea'))?.focus();
}

// Whether somebody writes in a field at this moment: what appears takes no keyboard from them.
export function is_writing() {
  const holder = /** @type {any} */ (document.activeElement);
  const is_text = holder?.matches('textarea, input:not([type=checkbox], [type=radio])') ?? false;
  return is_text && holder.value !== '';
}
