// The actor and time of a change: from the audit log, with names instead of ids.
import { api, with_query } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { ago, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { session } from '../session.mjs';
import { store, useStore } from '../store.mjs';
import { When } from '../ui/when.mjs';
import '../words/org_shared.mjs';

const asked_max = 20;
const known = store(new Map());

// The names of users by id, for platform administrators, who may ask for anybody: a Map that fills.
export function useNames(ids) {
  const names = useStore(known);
  const wanted = [...new Set(ids.filter(Boolean))].filter((id) => !names.has(id));
  useEffect(() => {
    if (!session.get().me?.platform_admin) return;
    for (const id of wanted.slice(0, asked_max)) {
      const keep = (name) => known.set(new Map(known.get()).set(id, name));
      keep('');
      api.get(`/v1/admin/users/${id}`).then(
        ({ body }) => keep(body.username || body.login),
        () => keep(''),
      );
    }
  }, [wanted.join()]);
  return names;
}

// The newest row of the log of any of `actions` for each target: a Map that fills. What was never
// changed, or longer ago than the log keeps, is not in it.
export function useLastChanges(actions) {
  const [rows, set_rows] = useState(new Map());
  const read = async () => {
    const pages = await Promise.all(
      actions.map((action) => api.get(with_query('/v1/audit-logs', { action, limit: 200 }))),
    );
    const all = pages.flatMap(({ body }) => body.data);
    const newest = new Map();
    for (const row of all.sort((one, other) => (one.id < other.id ? -1 : 1))) {
      newest.set(row.target_id, row);
    }
    set_rows(newest);
  };
  // Without it the screen says all but this.
  const reload = () => read().catch(() => set_rows(new Map()));
  useEffect(() => {
    reload();
  }, []);
  return { rows, reload };
}

// '3 days ago by Ada', of a row of the log.
export function LastChange({ row }) {
  const t = useWords();
  const names = useNames([row?.actor_user_id]);
  if (!row) return null;
  const name = names.get(row.actor_user_id);
  return html`<span class="dim"><${When} at=${row.created_at} /></span>${
    row.actor_user_id &&
    html` <a href=${address(`/platform/users/${row.actor_user_id}`)}><bdi>${
      name || t('change.somebody')
    }</bdi></a>`
  }`;
}
