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

// Whether somebody writes in a field at this moment: what appears takes no keyboard from them.
export function is_writing() {
  const holder = /** @type {any} */ (document.activeElement);
  const is_text = holder?.matches('textarea, input:not([type=checkbox], [type=radio])') ?? false;
  return is_text && holder.value !== '';
}
