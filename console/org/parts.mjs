// Small parts that the screens of an organization share: a secret that is shown once, JSON in a
// form, a button that asks, does and shows the audit row.
import { ApiError } from '../error.mjs';
import { html } from '../html.mjs';
import { t, useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { toast_error } from '../ui/error.mjs';
import '../words/org_shared.mjs';
import { show_change } from './change.mjs';

// The one time that a signing secret is seen.
export function SecretOnce({ secret, on_close }) {
  const words = useWords();
  return html`<${Dialog} title=${words('secret.title')} on_close=${on_close} is_firm>
    <p>${words('secret.text')}</p>
    <div class="curl"><pre tabindex="0" class="secret">${secret}</pre>
      <${Copy} text=${secret} what=${words('secret.title')} /></div>
    <div class="actions"><button type="button" class="main" onClick=${on_close} autofocus>
      ${words('secret.kept')}</button></div>
  <//>`;
}

// Refuses a field of a form before the service does.
export function refuse(field, message) {
  throw new ApiError({
    code: 'validation.error',
    title: t('org_ui.check_form'),
    errors: [{ field, code: 'bad_format', message }],
  });
}

// The object that stands in a field of a form; throws what the form shows beside it.
export function object_in(text, field) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    refuse(field, t('org_ui.no_json', { why: error.message }));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    refuse(field, t('org_ui.no_object'));
  }
  return value;
}

// Asks (`title`, `text`, `action` of the button, `typed`; no title, no question), does `work`, with
// a fresh login where the service wants one, and shows the audit row of `change`. Gives whether it
// was done; a fault is shown.
/**
 * @param {{title?: string, text?: string, action?: string, work: () => Promise<unknown>,
 *   change?: {action: string, target_id?: string}, is_danger?: boolean, typed?: string}} given
 */
export async function ask_and_do({ change, work, title = '', text = '', action = '', ...more }) {
  if (title && !(await ask({ title, text, action, ...more }))) return false;
  try {
    await with_fresh_login(work);
  } catch (error) {
    toast_error(error);
    return false;
  }
  if (change) await show_change(change);
  return true;
}
