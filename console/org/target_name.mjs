// The name of the thing that a row of the audit log is about, from what the row stored of it. Pure.

const name_members = [
  'display_name',
  'name',
  'title',
  'login',
  'username',
  'email',
  'model',
  'key',
  'cidr',
  'url',
  'slug',
];

const short_id = (id) => (/^[0-9a-f-]{36}$/.test(id) ? `…${id.slice(-6)}` : id);

// The type of a target in words ('API key'), or as the log has it.
const type_name = (type, t) => {
  const key = `audit.type.${type}`;
  const text = t?.(key) ?? key;
  return text === key ? type : text;
};

// The name that the row stored of its target, or ''.
export function stored_name(row) {
  for (const state of [row.after_state, row.before_state]) {
    if (!state) continue;
    if (state.persona_key) return `${state.persona_key}@${state.version ?? ''}`.replace(/@$/, '');
    const member = name_members.find((one) => typeof state[one] === 'string' && state[one] !== '');
    if (member) return state[member];
  }
  return '';
}

// `names`: a Map of known names by id. Without a name the type and the end of the id. '' when the
// row has no target.
export function target_name(row, names = new Map(), t = undefined) {
  const { target_type, target_id } = row;
  if (!target_id) return '';
  const known = names.get(target_id) || stored_name(row);
  return known || `${type_name(target_type ?? '', t)} ${short_id(target_id)}`.trim();
}
