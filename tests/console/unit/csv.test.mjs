// Cells of a CSV file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv_text, plain_number } from '../../../console/csv_text.mjs';

test('cells are quoted where RFC 4180 wants it, and none is a formula', () => {
  const quoted = csv_text([['a', 'b,c', 'd "e"', 'two\nlines', null]]);
  assert.equal(quoted, 'a,"b,c","d ""e""","two\nlines",\r\n');
  const formulas = csv_text([['=1+1', '-2', '@x', '+3 more', '-x']]);
  assert.equal(formulas, "'=1+1,-2,'@x,'+3 more,'-x\r\n");
});

test('numbers of a column lose what only people read', () => {
  assert.equal(plain_number('1,234.50'), '1234.50');
  assert.equal(plain_number('$0.0032'), '0.0032');
  assert.equal(plain_number('-$1,000.00'), '-1000.00');
  assert.equal(plain_number('1,500 + 80'), '1,500 + 80');
});
