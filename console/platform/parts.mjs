// What the platform's screens are made of beside ui/: a list that came whole, the audit row of what
// was just done, a form that changes something.
import { with_query } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { session } from '../session.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { ask } from '../ui/dialog.mjs';
import { ErrorBox, toast_error } from '../ui/error.mjs';
import { Form } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';

// What Table wants, of items that came in one answer (useCall).
export const whole_list = (call, items = call.body ?? []) => ({
  items,
  has_more: false,
  is_loading: call.is_loading,
  error: call.error,
  again: call.reload,
});

const as_text = (state) => (state ? JSON.stringify(state, null, 2) : '–');

function Recorded({ action }) {
  const t = useWords();
  const filter = { action, actor_user_id: session.get().me.id, limit: 1 };
  const log = useCall(with_query('/v1/audit-logs', filter));
  const row = log.body?.data[0];
  if (log.error) return html`<${ErrorBox} error=${log.error} on_retry=${log.reload} />`;
  if (!row) return null;
  return html`<div class="notice" role="status"><p>${t('platform.recorded')}${' '}
      <code>${row.action}</code> <bdi>${row.target_id}</bdi> · ${time(row.created_at)}</p>
    <details><summary>${t('platform.before_after')}</summary><div class="panels">
      <pre>${as_text(row.before_state)}</pre><pre>${as_text(row.after_state)}</pre></div>
    </details></div>`;
}

// {done(action), view}: the newest audit row of that action by the signed-in user, in `view`.
export function useRecorded() {
  const [made, set_made] = useState(null);
  return {
    done: (action) => set_made({ action, at: Date.now() }),
    view: made && html`<${Recorded} action=${made.action} key=${made.at} />`,
  };
}

// Asks when `question` says so, then does it, with a fresh login where the service wants one. Gives
// whether it was done.
export async function act(work, question = null) {
  if (question && !(await ask(question))) return false;
  try {
    await with_fresh_login(work);
    return true;
  } catch (error) {
    toast_error(error);
    return false;
  }
}

// A form in a panel of its own; `on_submit(values, key)` may want a fresh login.
export function PanelForm({ form, title, on_submit, children, text }) {
  return html`<section class="panel"><h2>${title}</h2>${text && html`<p>${text}</p>`}
    <${Form} form=${form} label=${title}
      on_submit=${(values, key) => with_fresh_login(() => on_submit(values, key))}>
      ${children}<//></section>`;
}

// A text that is a number, else null; for members that may be left out.
export const number_or_none = (text) => (String(text).trim() === '' ? undefined : Number(text));
