import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './client-network.ts'

test('the network of an IPv4 address is the address, also in its IPv6 form', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1')
  assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1')
})

test('the network of an IPv6 address is its first 64 bits', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  assert.equal(networkOf('[2001:db8::1]'), '2001:db8:0:0')
  assert.equal(networkOf('::1'), '0:0:0:0')
})

test('other text is returned as it is', () => assert.equal(networkOf('an account'), 'an account'))
