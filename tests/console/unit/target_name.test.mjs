// Rows of the audit log name their target.
import assert from 'node:assert/strict';
import test from 'node:test';
import { target_name } from '../../../console/org/target_name.mjs';

const id = '01a22722-e9f4-7e14-8197-fc9dd92ecf1d';
const row = (more) => ({ target_type: 'thing', target_id: id, ...more });

test('a target has the name that is known, else the one that the row stored', () => {
  assert.equal(target_name(row({ target_id: null })), '');
  assert.equal(target_name(row(), new Map([[id, 'Ada']])), 'Ada');
  assert.equal(target_name(row({ after_state: { name: 'night' } })), 'night');
  assert.equal(target_name(row({ before_state: { cidr: '10.0.0.0/8' } })), '10.0.0.0/8');
  assert.equal(
    target_name(row({ after_state: { persona_key: 'shop', version: '2', display_name: 'S' } })),
    'shop@2',
  );
});

test('without a name it is the type and the end of the id, or a key', () => {
  assert.equal(target_name(row()), 'thing …2ecf1d');
  assert.equal(
    target_name({ target_type: 'setting', target_id: 'limit.runs' }),
    'setting limit.runs',
  );
});
