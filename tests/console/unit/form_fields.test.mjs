// Tests what is asked of a person by the form that a server sent, and what is answered of its
// fields.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { content_of, fields_of } from '../../../console/chat/form_fields.mjs';
import { parse_json, show_json } from '../../../console/chat/show_json.mjs';

const form = {
  type: 'object',
  required: ['name', 'size', 'colour', 'sure'],
  properties: {
    name: { type: 'string', title: 'Whose', description: 'Your name' },
    size: { type: 'integer', minimum: 1 },
    weight: { type: 'number', default: 1.5 },
    sure: { type: 'boolean', default: true },
    colour: { type: 'string', enum: ['red', 'blue'], enumNames: ['Red', 'Blue'] },
    speed: { type: 'string', oneOf: [{ const: 'slow', title: 'Slow' }, { const: 'quick' }] },
    days: { type: 'array', items: { enum: ['Mo', 'Tu'] }, default: ['Tu'] },
  },
};

const firsts = (fields) => Object.fromEntries(fields.map(({ name, first }) => [name, first]));

test('a flat form has fields with labels, choices and what stands there at first', () => {
  const fields = fields_of(form);
  assert.deepEqual(
    fields.map(({ name, label, kind, is_required, first }) => [
      name,
      label,
      kind,
      is_required,
      first,
    ]),
    [
      ['name', 'Whose', 'text', true, ''],
      ['size', 'size', 'number', true, ''],
      ['weight', 'weight', 'number', false, '1.5'],
      ['sure', 'sure', 'boolean', true, true],
      ['colour', 'colour', 'choice', true, ''],
      ['speed', 'speed', 'choice', false, ''],
      ['days', 'days', 'choices', false, ['"Tu"']],
    ],
  );
  assert.deepEqual(fields[4].options, [
    ['"red"', 'Red'],
    ['"blue"', 'Blue'],
  ]);
  assert.deepEqual(fields[5].options, [
    ['"slow"', 'Slow'],
    ['"quick"', 'quick'],
  ]);
});

test('what is empty is left out, and asked for where it is required', () => {
  const fields = fields_of(form);
  const values = firsts(fields);
  assert.deepEqual(content_of(fields, values), { fault: 'size' });
  const given = { ...values, size: '12345678901234567890', colour: '"blue"', days: [], weight: '' };
  const { content } = content_of(fields, given);
  assert.equal(
    show_json(content, 0),
    '{"name":"","size":12345678901234567890,"sure":true,"colour":"blue"}',
  );
  for (const size of ['', 'x', '"1"', 'true', '1 2']) {
    assert.deepEqual(content_of(fields, { ...given, size }), { fault: 'size' }, size);
  }
});

test('a form that is more than flat has no fields, and no word of it is code', () => {
  for (const schema of [
    undefined,
    null,
    {},
    { type: 'object', properties: {} },
    { type: 'object', properties: { a: { type: 'object' } } },
    { type: 'object', properties: { a: null } },
    { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } },
    { type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } },
  ]) {
    assert.equal(fields_of(schema), null, show_json(schema));
  }
  const odd = parse_json('{"properties":{"__proto__":{"type":"string","title":7}}}');
  const [field] = fields_of(odd);
  assert.deepEqual([field.name, field.label], ['__proto__', '7']);
  assert.equal(
    show_json(content_of([field], { __proto__: null, ['__proto__']: 'x' }).content, 0),
    '{"__proto__":"x"}',
  );
});
