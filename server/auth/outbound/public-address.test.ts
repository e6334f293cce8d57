import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublic } from './public-address.ts'

test('accepts addresses of the public internet', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '140.82.112.3',
    '192.1.1.1',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
    assert.ok(isPublic(address), address)
})

test('refuses loopback, private, link-local and reserved addresses, IPv6 forms of IPv4, and other text', () => {
  const local = [
    '127.0.0.1',
    '127.255.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
  ]
  const special = [
    '169.254.169.254',
    '100.64.0.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
  ]
  const ipv6 = [
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
  ]
  const mapped = ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1', '::ffff:a9fe:a9fe']
  for (const address of [
    ...local,
    ...special,
    ...ipv6,
    ...mapped,
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
  ])
    assert.ok(!isPublic(address), address)
})
