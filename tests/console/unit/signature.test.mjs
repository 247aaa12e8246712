// The signature checker against a signature that node's own crypto made.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import test from 'node:test';
import { check_signature, signature_of } from '../../../console/org/signature.mjs';

const key = randomBytes(32);
const now_s = 1_790_000_000;
const message = {
  secret: `whsec_${key.toString('base64')}`,
  id: 'msg_1',
  timestamp: `${now_s - 20}`,
  body: '{"type":"run.completed","data":{"text":"好 \\u0000"}}',
};
const wanted = `v1,${createHmac('sha256', key)
  .update(`${message.id}.${message.timestamp}.${message.body}`)
  .digest('base64')}`;
const check = (changes) => check_signature({ ...message, signature: wanted, now_s, ...changes });

test('a good signature is told from all that are not', async () => {
  assert.equal(await signature_of(message), wanted);
  assert.equal(await check({}), 'good');
  assert.equal(await check({ signature: `v1,AAAA ${wanted}` }), 'good');
  assert.equal(await check({ body: `${message.body} ` }), 'wrong');
  assert.equal(await check({ id: 'msg_2' }), 'wrong');
  assert.equal(await check({ secret: `whsec_${randomBytes(32).toString('base64')}` }), 'wrong');
  assert.equal(await check({ now_s: now_s + 600 }), 'old');
  assert.equal(await check({ now_s: now_s - 600 }), 'old');
});

test('what is no secret, and what is no time, is said to be none', async () => {
  assert.equal(await check({ secret: 'whsec_%%%' }), 'no_secret');
  assert.equal(await check({ secret: '' }), 'no_secret');
  assert.equal(await check({ timestamp: 'yesterday' }), 'no_time');
});
