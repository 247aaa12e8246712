// Things that have a name and a list: the audit log names its targets by them, and its filter
// offers them.
import { api, with_query } from '../api.mjs';
import { useEffect, useState } from '../html.mjs';
import { may, session } from '../session.mjs';

const limit = 200;
const persona_name = (one) => `${one.persona_key}@${one.version}`;
const member_of = {
  path: () => with_query(`/v1/orgs/${session.get().me.org_id}/members`, { limit }),
  name: (one) => one.username,
  id: (one) => one.user_id,
};

// By the type of the target: where its list is, who may read it (a permission, of platform
// administrators for the platform's things), and what names an item. `id`: unless it is `id`.
/** @type {Record<string, any>} */
const kinds = {
  user: member_of,
  member: member_of,
  api_key: {
    path: () => with_query('/v1/api-keys', { limit }),
    permission: 'data.api_keys.manage',
    name: (one) => one.name,
  },
  persona: {
    path: (scope) => with_query('/v1/personas', { scope, limit }),
    name: persona_name,
  },
  llm_provider: {
    path: (scope) => with_query('/v1/llm-providers', { scope, limit }),
    permission: 'data.llm_providers.manage',
    name: (one) => one.name,
  },
  tool: {
    path: (scope) => with_query('/v1/tools', { scope, limit }),
    permission: 'data.personas.manage',
    name: (one) => one.name,
  },
  mcp_server: {
    path: (scope) => with_query('/v1/mcp-servers', { scope, limit }),
    permission: 'data.personas.manage',
    name: (one) => one.name,
  },
  webhook_endpoint: {
    path: () => with_query('/v1/webhook-endpoints', { limit }),
    permission: 'data.webhooks.manage',
    name: (one) => one.url,
  },
  ip_rule: {
    path: () => with_query('/v1/ip-rules', { limit }),
    permission: 'org.ip_rules.manage',
    name: (one) => one.cidr,
  },
  budget: { path: () => with_query('/v1/budgets', { limit }), name: (one) => one.name },
  thread: {
    path: () => with_query('/v1/threads', { limit }),
    permission: 'data.threads.read',
    name: (one) => one.title,
  },
};

export const has_list = (type) => type in kinds;

// [id, name] of the things of this type that the user may read.
export async function read_things(type, scope) {
  const kind = kinds[type];
  if (!kind || (kind.permission && !may(kind.permission))) return [];
  const { get } = /** @type {any} */ (api);
  const { body } = await get(kind.path(scope));
  const id_of = kind.id ?? ((one) => one.id);
  return body.map((one) => [id_of(one), kind.name(one)]).filter(([, name]) => name);
}

// The names of all things of `types`, by id: a Map that fills.
export function useThings(types, scope) {
  const [names, set_names] = useState(new Map());
  const wanted = [...new Set(types)].filter(has_list).sort().join(' ');
  const { me } = session.get();
  useEffect(() => {
    let is_gone = false;
    // A list that cannot be read names nothing.
    const reading = wanted
      .split(' ')
      .filter(Boolean)
      .map((type) => read_things(type, scope).catch(() => []));
    Promise.all(reading).then((lists) => is_gone || set_names(new Map(lists.flat())));
    return () => {
      is_gone = true;
    };
  }, [wanted, scope, me?.org_id]);
  return names;
}

// The screen of a target, or ''.
export function place_of({ target_type, target_id }) {
  if (!target_id) return '';
  if (target_type === 'run') return `/runs/${target_id}`;
  if (target_type === 'persona') return `/personas/${target_id}`;
  if (target_type === 'mcp_server') return `/mcp-servers/${target_id}`;
  if (target_type === 'webhook_endpoint') return `/webhooks/${target_id}`;
  const is_admin = session.get().me?.platform_admin;
  return is_admin && target_type === 'user' ? `/platform/users/${target_id}` : '';
}
