// The row of the audit log that a change left, shown behind what cannot be taken back. A screen
// shows `Changed` below its heading and awaits `show_change` after the call.
import { api } from '../api.mjs';
import { changed } from '../chat/service.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, watch_screens } from '../router.mjs';
import { may, session } from '../session.mjs';
import { store, useStore } from '../store.mjs';
import { Copy } from '../ui/copy.mjs';
import { toast_error } from '../ui/error.mjs';
import { Icon } from '../ui/icon.mjs';
import { When } from '../ui/when.mjs';
import '../words/org_shared.mjs';
import { Differences } from './diff.mjs';
import { scope_query } from './scope.mjs';
import { stored_name } from './target_name.mjs';

const shown = store(null);

// Another screen begins without one. `newest`: which change is shown, of several.
let newest = 0;
watch_screens(() => shown.set(null));

// Reads one's own newest row of `action` (of this target, when one is named) and shows it. Users
// without access to the log see none. A failure to read the log is no failure of the change.
export async function show_change({ action, target_id = '' }) {
  shown.set(null);
  if (/^(personas|llm_\w+)\./.test(action)) changed('choices');
  const mine = ++newest;
  const { me } = session.get();
  if (!may('org.audit.read') && !me?.platform_admin) return;
  try {
    const query = { action, target_id, actor_user_id: me.id, limit: 1 };
    const { body } = await api.get('/v1/audit-logs', { query });
    if (mine === newest) shown.set(body.data[0] ?? null);
  } catch (error) {
    toast_error(error);
  }
}

export function Changed() {
  const t = useWords();
  const row = useStore(shown);
  if (!row) return null;
  const scope = row.org_id === session.get().me?.org_id ? 'org' : 'platform';
  const key = `done.${row.action}`;
  const sentence = t(key) === key ? t('change.done') : t(key);
  const name = stored_name(row);
  const has_states = row.before_state || row.after_state;
  return html`<section class="notice changed" role="status" aria-label=${t('change.title')}>
    <div class="head"><strong>${sentence}</strong>${name && html` <bdi>${name}</bdi>`}
      <a href=${address('/audit', { action: row.action, ...scope_query(scope) })}>
        ${t('change.all')}</a>
      <span class="space"></span>
      <button type="button" class="small quiet" aria-label=${t('close')}
        onClick=${() => shown.set(null)}><${Icon} name="close" /></button></div>
    <details open=${Boolean(row.before_state && row.after_state)}>
      <summary>${t('error.details')}</summary>
      <p><code>${row.action}</code> <span class="dim"><${When} at=${row.created_at} /></span>${
        row.trace_id &&
        html` <span class="dim">${t('error.trace')}</span> <code
        class="trace">${row.trace_id}</code> <${Copy} text=${row.trace_id}
          what=${t('error.trace')} />`
      }</p>
      ${
        has_states &&
        html`<${Differences} before=${row.before_state} after=${row.after_state} />`
      }</details>
  </section>`;
}
