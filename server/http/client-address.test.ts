import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress } from './client-address.ts'

test('without trusted proxies, the address is that of the connection', () => {
  const addressOf = clientAddress([])
  assert.equal(addressOf('192.0.2.1', '198.51.100.1'), '192.0.2.1')
  assert.equal(addressOf('::ffff:192.0.2.1', undefined), '192.0.2.1')
  assert.equal(addressOf('2001:db8::1', undefined), '2001:db8::1')
  assert.equal(addressOf(undefined, undefined), '')
})

test('the first untrusted peer that sends X-Forwarded-For is reported, and no other', () => {
  for (const trusted of [[], ['10.0.0.0/8']]) {
    const reported: string[] = []
    const addressOf = clientAddress(trusted, (peer) => reported.push(peer))
    addressOf('192.0.2.1', undefined)
    assert.deepEqual(reported, [])
    for (const peer of ['192.0.2.2', '192.0.2.3']) assert.equal(addressOf(peer, '198.51.100.1'), peer)
    assert.deepEqual(reported, ['192.0.2.2'])
  }
  const reported: string[] = []
  const addressOf = clientAddress(['10.0.0.0/8'], (peer) => reported.push(peer))
  for (const peer of ['10.1.2.3', '::ffff:10.1.2.3']) addressOf(peer, '198.51.100.1')
  assert.deepEqual(reported, [])
})

test('the address a trusted proxy reports is used, and forged entries before it are ignored', () => {
  const addressOf = clientAddress(['10.0.0.0/8', '192.0.2.1', 'fd00::/8'])
  for (const [peer, header, expected] of [
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '203.0.113.7, 198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    ['198.51.100.9', '203.0.113.7', '198.51.100.9'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', 'nonsense, , 198.51.100.1:8080', '198.51.100.1'],
    ['10.1.2.3', '[2001:db8::1]:443', '2001:db8::1'],
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['fd00::1', '2001:db8::5', '2001:db8::5'],
    ['10.1.2.3', '10.9.9.9', '10.9.9.9'],
  ] as const)
    assert.equal(addressOf(peer, header), expected, `${peer} ${header}`)
})

test('entries before one that is not an address are ignored, because they may be forged', () => {
  const addressOf = clientAddress(['10.0.0.0/8'])
  for (const [header, expected] of [
    ['203.0.113.7, unknown', '10.1.2.3'],
    ['203.0.113.7,', '10.1.2.3'],
    ['203.0.113.7, _hidden, 10.9.9.9', '10.9.9.9'],
    ['203.0.113.7, 198.51.100.1.example, 10.9.9.9, 10.8.8.8', '10.9.9.9'],
  ] as const)
    assert.equal(addressOf('10.1.2.3', header), expected, header)
})

test('X-Forwarded-For is ignored if the address of the peer is unknown', () => {
  const reported: string[] = []
  for (const trusted of [[], ['10.0.0.0/8'], ['0.0.0.0/0', '::/0']]) {
    const addressOf = clientAddress(trusted, (peer) => reported.push(peer))
    assert.equal(addressOf(undefined, '203.0.113.7'), '')
    assert.equal(addressOf('', '203.0.113.7, 10.9.9.9'), '')
    // grpc-js uses this text if it does not know the address of a peer.
    assert.equal(addressOf('unknown', '203.0.113.7'), 'unknown')
  }
  assert.deepEqual(reported, [])
})
