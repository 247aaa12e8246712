// The console explains a risk score by the signals that made it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { signals_of } from '../../../console/platform/risk.mjs';

const row = (risk_score, user_agent = 'curl/8', ua_type = 'tool') => ({
  risk_score,
  user_agent,
  ua_type,
});

test('every sum of weights is taken apart', () => {
  assert.deepEqual(signals_of(row(0)), []);
  assert.deepEqual(signals_of(row(0.2)), ['no_authorization']);
  assert.deepEqual(signals_of(row(0.6)), ['listed_address']);
  assert.deepEqual(signals_of(row(0.8)), ['listed_address', 'no_authorization']);
  assert.deepEqual(signals_of(row(0.4, '', 'unknown')), ['no_user_agent']);
  assert.deepEqual(signals_of(row(0.6000000000000001, 'a bot', 'bot')), [
    'bot_user_agent',
    'no_authorization',
  ]);
  assert.deepEqual(signals_of(row(1, '', 'unknown')), ['no_user_agent', 'listed_address']);
});

test('an address that was listed meanwhile is not made up', () => {
  assert.deepEqual(signals_of(row(0.2, '', 'unknown')), ['no_authorization']);
});
