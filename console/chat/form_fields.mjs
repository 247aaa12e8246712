// The fields of a form that a server of tools asks for (`elicitation`), by its JSON Schema: a flat
// object of texts, numbers, yes or no, and choices. Pure. A schema that is more than that has no
// fields: then the content is typed as JSON.
//
// field   { name, label, hint, kind, options, is_required, first }
//   kind     text, number, boolean, choice (one of `options`, [[JSON text, words]]), choices (any)
//   first    what stands there at first: a text, a boolean, or of choices an array of JSON texts
import { read_json, show_json } from './show_json.mjs';

// [[JSON text of the value, words]] of enum, oneOf or anyOf with consts; null when it is neither.
function options_of({ enum: values, enumNames: names, oneOf, anyOf }) {
  const shown = (value, words) => [show_json(value, 0), String(words ?? value)];
  if (Array.isArray(values)) return values.map((value, at) => shown(value, names?.[at]));
  const parts = oneOf ?? anyOf;
  if (!Array.isArray(parts) || !parts.every((part) => part && 'const' in part)) return null;
  return parts.map((part) => shown(part.const, part.title));
}

function kind_of(schema) {
  if (schema === null || typeof schema !== 'object') return {};
  const options = options_of(schema);
  if (options) return { kind: 'choice', options };
  if (schema.type === 'array') {
    const offered = schema.items && options_of(schema.items);
    return offered ? { kind: 'choices', options: offered } : {};
  }
  const plain = { string: 'text', number: 'number', integer: 'number', boolean: 'boolean' };
  return { kind: plain[schema.type] };
}

function first_of(kind, given) {
  if (kind === 'boolean') return given === true;
  if (kind === 'choices') {
    return Array.isArray(given) ? given.map((value) => show_json(value, 0)) : [];
  }
  if (given === undefined || given === null) return '';
  return kind === 'text' ? String(given) : show_json(given, 0);
}

// The fields, in their order; null when the schema is no form.
export function fields_of(schema) {
  const properties = schema?.properties;
  if (properties === null || typeof properties !== 'object') return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, of]) => {
    const { kind, options = [] } = kind_of(of);
    return {
      name,
      label: String(of?.title ?? name),
      hint: String(of?.description ?? ''),
      kind,
      options,
      is_required: required.includes(name),
      first: first_of(kind, of?.default),
    };
  });
  return fields.length > 0 && fields.every(({ kind }) => kind) ? fields : null;
}

// The content as it is sent, of what stands in the fields; what was left empty is left out, unless
// it is required. `fault` names a field that must not be empty or whose number is invalid.
export function content_of(fields, values) {
  const content = [];
  for (const { name, label, kind, is_required } of fields) {
    const given = values[name];
    if (kind === 'boolean') {
      content.push([name, given]);
    } else if (kind === 'choices') {
      const chosen = given.map((text) => read_json(text).value);
      if (is_required || chosen.length > 0) content.push([name, chosen]);
    } else if (given === '') {
      if (is_required && kind !== 'text') return { fault: label };
      if (is_required) content.push([name, '']);
    } else if (kind === 'text') {
      content.push([name, given]);
    } else {
      const { value, problem } = read_json(given);
      const is_fault = problem !== undefined || (kind === 'number' && !/^\s*-?\d/.test(given));
      if (is_fault) return { fault: label };
      content.push([name, value]);
    }
  }
  // A member may be called __proto__.
  return { content: Object.fromEntries(content) };
}
