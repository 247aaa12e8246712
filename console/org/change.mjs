// The row of the audit log that a change left, shown behind what cannot be taken back. A screen
// shows `Changed` below its heading and awaits `show_change` after the call.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { address, place } from '../router.mjs';
import { may, session } from '../session.mjs';
import { store, useStore } from '../store.mjs';
import { Copy } from '../ui/copy.mjs';
import { toast_error } from '../ui/error.mjs';
import '../words/org_shared.mjs';
import { Differences } from './diff.mjs';
import { scope_query } from './scope.mjs';

const shown = store(null);

// Another screen begins without one.
let screen = '';
place.watch((opened) => {
  if (opened.path !== screen) shown.set(null);
  screen = opened.path;
});

// Reads one's own newest row of `action` (of this target, when one is named) and shows it. Whoever
// may not read the log sees none; a fault of reading it is no fault of the change.
export async function show_change({ action, target_id = '' }) {
  shown.set(null);
  const { me } = session.get();
  if (!may('org.audit.read') && !me?.platform_admin) return;
  try {
    const query = { action, target_id, actor_user_id: me.id, limit: 1 };
    const { body } = await api.get('/v1/audit-logs', { query });
    shown.set(body.data[0] ?? null);
  } catch (error) {
    toast_error(error);
  }
}

export function Changed() {
  const t = useWords();
  const row = useStore(shown);
  if (!row) return null;
  const scope = row.org_id === session.get().me?.org_id ? 'org' : 'platform';
  return html`<section class="notice changed" role="status" aria-label=${t('change.title')}>
    <p><strong>${t('change.title')}</strong> <code>${row.action}</code> ${time(row.created_at)}
      ${
        row.trace_id &&
        html` <span class="dim">${t('error.trace')}</span> <code
        class="trace">${row.trace_id}</code> <${Copy} text=${row.trace_id}
          what=${t('error.trace')} />`
      }</p>
    ${
      (row.before_state || row.after_state) &&
      html`<${Differences} before=${row.before_state} after=${row.after_state} />`
    }
    <p><a href=${address('/audit', { action: row.action, ...scope_query(scope) })}>
      ${t('change.all')}</a></p>
  </section>`;
}
