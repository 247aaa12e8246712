// JSON of models and of users as text to look at and to edit. What a reader would not see, or
// would see elsewhere than it stands (controls, directions, zero width, tags), is written as the
// escape that JSON has for it: the text means the same.

// TypeScript does not know these two of ECMAScript's yet.
const raw = /** @type {{rawJSON?: Function, isRawJSON?: Function}} */ (JSON);

const unseen = new RegExp(
  '[\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f' +
    '\\u17b4\\u17b5\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0' +
    '\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
  'gu',
);

// Two of them for what lies beyond the first 65536 characters.
const escape_of = (char) =>
  char.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export function show_json(value, indent = 2) {
  return (JSON.stringify(value, null, indent) ?? '').replace(unseen, escape_of);
}

// Numbers that JavaScript would round stay as they were written.
function keep_number(_, value, /** @type {{source?: string}} */ { source } = {}) {
  const is_kept = typeof value !== 'number' || source === undefined || String(value) === source;
  return is_kept ? value : raw.rawJSON(source);
}

export function parse_json(text) {
  const may_round =
    typeof raw.rawJSON === 'function' &&
    /\d[.\d]{15}|\d[eE]|[:,[]\s*-?\d+\.\d*0\s*[,\]}]/.test(text);
  return may_round ? JSON.parse(text, keep_number) : JSON.parse(text);
}

// Whether two texts of JSON mean the same, but for the order of members.
export function is_same_json(one, other) {
  const sorted = (_, value) => {
    const is_object = value !== null && typeof value === 'object' && !Array.isArray(value);
    if (!is_object || raw.isRawJSON?.(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return JSON.stringify(one, sorted) === JSON.stringify(other, sorted);
}

// { value } or { problem } of what somebody typed.
export function read_json(text) {
  try {
    return { value: parse_json(text) };
  } catch (error) {
    return { problem: error.message };
  }
}
