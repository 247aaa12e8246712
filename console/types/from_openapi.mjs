// Writes what docs/openapi.yaml promises as TypeScript:
//   node from_openapi.mjs OPENAPI.json OUT.d.ts
// `Schemas` has the document's schemas by name, `Calls` its calls: 'GET /v1/runs/*' with the query,
// the body and the answer of each. Called by tests/console/unit/types.test.mjs.
import { readFileSync, writeFileSync } from 'node:fs';

const [source, out] = process.argv.slice(2);
const document = JSON.parse(readFileSync(source, 'utf8'));
const one_of = (types) => [...new Set(types)].join(' | ') || 'unknown';
const quoted = (text) => JSON.stringify(text);

function resolved(node) {
  if (!node?.$ref) return node;
  const found = node.$ref
    .slice(2)
    .split('/')
    .reduce((at, name) => at[name], document);
  return resolved(found);
}

function object_type(schema) {
  const { properties = {}, required = [], additionalProperties: others } = schema;
  const members = Object.entries(properties).map(
    ([name, of]) => `${quoted(name)}${required.includes(name) ? '' : '?'}: ${type_of(of)}`,
  );
  const is_open = others !== undefined && others !== false;
  if (is_open && members.length === 0) {
    return `Record<string, ${others === true ? 'unknown' : type_of(others)}>`;
  }
  return members.length === 0 ? 'Record<string, unknown>' : `{ ${members.join('; ')} }`;
}

const type_by_name = {
  string: () => 'string',
  integer: () => 'number',
  number: () => 'number',
  boolean: () => 'boolean',
  null: () => 'null',
  array: (schema) => `Array<${type_of(schema.items ?? true)}>`,
  object: object_type,
};

function type_of(schema) {
  if (schema === true || schema === undefined) return 'unknown';
  if (schema.$ref) return `Schemas[${quoted(schema.$ref.split('/').pop())}]`;
  if ('const' in schema) return quoted(schema.const);
  if (schema.enum) return one_of(schema.enum.map(quoted));
  const parts = [];
  for (const choice of ['oneOf', 'anyOf']) {
    if (schema[choice]) parts.push(`(${one_of(schema[choice].map(type_of))})`);
  }
  for (const part of schema.allOf ?? []) parts.push(type_of(part));
  const names = [schema.type ?? (schema.properties ? 'object' : [])].flat();
  // `required` alone, beside what it is about, says nothing that a type can.
  const own = names.map((name) => type_by_name[name](schema));
  if (own.length > 0 && (parts.length === 0 || schema.properties)) parts.push(`(${one_of(own)})`);
  return parts.filter((part) => part !== '(unknown)').join(' & ') || 'unknown';
}

const json_of = (content) => type_of(content?.['application/json']?.schema);

function answer_of(operation) {
  const types = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => resolved(response).content)
    .map((content) => (content?.['application/json'] ? json_of(content) : 'null'));
  return one_of(types);
}

function query_of(shared, operation) {
  const given = [...shared, ...(operation.parameters ?? [])]
    .map(resolved)
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => `${quoted(name)}?: ${type_of(schema)}`);
  return given.length === 0 ? '{}' : `{ ${given.join('; ')} }`;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const calls = [];
for (const [path, item] of Object.entries(document.paths)) {
  for (const method of methods.filter((name) => item[name])) {
    const body = resolved(item[method].requestBody);
    const key = quoted(`${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '*')}`);
    const query = query_of(item.parameters ?? [], item[method]);
    const taken = body ? json_of(body.content) : 'never';
    const answer = answer_of(item[method]);
    calls.push(`  ${key}: { query: ${query}; body: ${taken}; answer: ${answer} };`);
  }
}
const schemas = Object.entries(document.components.schemas).map(
  ([name, schema]) => `  ${quoted(name)}: ${type_of(schema)};`,
);
writeFileSync(
  out,
  [
    '// Made from docs/openapi.yaml; do not edit.',
    'export interface Schemas {',
    ...schemas,
    '}',
    'export interface Calls {',
    ...calls,
    '}\n',
  ].join('\n'),
);
