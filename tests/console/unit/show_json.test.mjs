// JSON of others is shown with the digits that it was written with.
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { is_same_json, parse_json, show_json } from '../../../console/chat/show_json.mjs';

test('numbers that JavaScript would write in another way stay as they were written', () => {
  for (const text of [
    '{"id":12345678901234567890}',
    '{"rate":1.10}',
    '[1.0]',
    '[0.1,2.50 ,3]',
    '[1e5,1E400]',
    '{"a":{"b":[-0.12345678901234567890]}}',
  ]) {
    assert.equal(show_json(parse_json(text), 0), text.replace(' ', ''));
  }
});

test('times are no such numbers, and all others are numbers', () => {
  const { at, n } = parse_json('{"at":"2026-11-24T03:35:02.550Z","n":7}');
  assert.deepEqual([at, n], ['2026-11-24T03:35:02.550Z', 7]);
});

test('the order of members makes no other JSON, another digit does', () => {
  const one = parse_json('{"a":12345678901234567890,"b":1}');
  assert.ok(is_same_json(one, parse_json('{"b":1,"a":12345678901234567890}')));
  assert.ok(!is_same_json(one, parse_json('{"b":1,"a":12345678901234567891}')));
});

test('what nobody sees is written as its escape, and means the same', () => {
  const hidden = [...'rm -rf'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0)));
  const value = { path: `a${hidden.join('')}b\u202ec\u{e0100}\u2800\u200b`, fine: 'é漢😀❤️' };
  const shown = show_json(value, 0);
  assert.match(shown, /^[\x20-\x7eé漢😀❤\ufe0f]*$/u);
  assert.ok(shown.includes('a\\udb40\\udc72\\udb40\\udc6d'), shown);
  assert.deepEqual(JSON.parse(shown), value);
});
