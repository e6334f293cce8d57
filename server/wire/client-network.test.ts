import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf, networksOf } from './client-network.ts'

test('the network of an IPv4 address is the address itself, even if it is written as IPv6', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1')
  assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1')
})

test('the network of an IPv6 address is its first 64 bits', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  assert.equal(networkOf('[2001:db8::1]'), '2001:db8:0:0')
  assert.equal(networkOf('::1'), '0:0:0:0')
})

test('an IPv6 address has the same network however it is written', () => {
  for (const [network, ...addresses] of [
    ['2001:0:0:5', '2001::5:1:2:3:4', '2001:0:0:5::1', '2001:0000::5:0:0:0:1'],
    ['2001:db8:0:0', '2001:DB8::1', '2001:0db8::', '2001:db8:0:0:0:0:0:1', '2001:db8::192.0.2.1'],
    ['0:0:0:5', '::5:1:2:3:4', '0::5:1:2:3:4'],
    ['1:2:3:0', '1:2:3::', '1:2:3::4:5:6'],
    ['fe80:0:0:0', 'fe80::1%eth0', 'fe80::2'],
    ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1'],
    ['64:ff9b:0:0', '64:ff9b::192.0.2.1'],
  ] as const)
    for (const address of addresses) assert.equal(networkOf(address), network, address)
})

test('other text is returned as it is', () => assert.equal(networkOf('an account'), 'an account'))

test('a client is in three networks: roughly those of its provider, of one customer and of one household', () => {
  assert.deepEqual(networksOf('192.0.2.1'), ['192.0', '192.0.2', '192.0.2.1'])
  assert.deepEqual(networksOf('::ffff:192.0.2.1'), ['192.0', '192.0.2', '192.0.2.1'])
  assert.deepEqual(networksOf('2001:db8:1:2::3'), ['2001:db8', '2001:db8:1', '2001:db8:1:2'])
  assert.deepEqual(networksOf('unknown'), ['unknown', 'unknown', 'unknown'])
})
