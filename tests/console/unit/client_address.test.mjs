// Tests what the console says of a client's address is what lib/net/client_address.cpp finds.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  client_address,
  is_within,
  parse_address,
  parse_hop,
} from '../../../console/platform/client_address.mjs';

const found = (ip_mode, peer, forwarded_for = '', connecting_ip = '', trusted = ['10.0.0.0/8']) =>
  client_address({ ip_mode, trusted_cidrs: trusted }, { peer, forwarded_for, connecting_ip });

test('addresses are read as proxies write them', () => {
  assert.equal(parse_hop(' 192.0.2.1:443 ').text, '192.0.2.1');
  assert.equal(parse_hop('[2001:DB8:0::1]:80').text, '2001:db8::1');
  assert.equal(parse_hop('::ffff:192.0.2.1').text, '192.0.2.1');
  for (const wrong of ['', 'unknown', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4:', '[1.2.3.4]']) {
    assert.equal(parse_hop(wrong), null, wrong);
  }
});

test('networks hold what is in them', () => {
  assert.ok(is_within(parse_address('10.255.0.1'), '10.0.0.0/8'));
  assert.ok(!is_within(parse_address('11.0.0.1'), '10.0.0.0/8'));
  assert.ok(is_within(parse_address('192.0.2.130'), '192.0.2.128/25'));
  assert.ok(!is_within(parse_address('192.0.2.127'), '192.0.2.128/25'));
  assert.ok(is_within(parse_address('2001:db8:8000::1'), '2001:db8::/32'));
  assert.ok(!is_within(parse_address('::1'), '10.0.0.0/8'));
  assert.ok(is_within(parse_address('10.1.1.1'), '::ffff:10.0.0.0/104'));
});

test('the right-most address that is not trusted counts, of trusted peers alone', () => {
  const chain = '203.0.113.9, 198.51.100.7, 10.0.0.2';
  assert.deepEqual(found('direct', '10.0.0.1', chain), { address: '10.0.0.1', why: 'direct' });
  assert.deepEqual(found('proxy', '10.0.0.1', chain), { address: '198.51.100.7', why: 'header' });
  assert.deepEqual(found('proxy', '192.0.2.1', chain), { address: '192.0.2.1', why: 'untrusted' });
  assert.deepEqual(found('proxy', '10.0.0.1', chain, '', []), {
    address: '10.0.0.1',
    why: 'untrusted',
  });
  assert.deepEqual(found('proxy', '10.0.0.1', ''), { address: '10.0.0.1', why: 'no_header' });
  assert.equal(found('proxy', '10.0.0.1', 'rubbish, 10.0.0.2').address, '10.0.0.2');
  assert.equal(found('proxy', '10.0.0.1', '10.0.0.3, 10.0.0.2').address, '10.0.0.3');
  assert.equal(found('cdn', '10.0.0.1', chain, '203.0.113.1').address, '203.0.113.1');
  assert.equal(found('cdn', 'nobody'), null);
});
