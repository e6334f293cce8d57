import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openRequestIds } from './request-id.ts'

const uuids = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

describe('request ids', () => {
  test('are a prefix and a counter in the form of a UUID', () => {
    const ids = openRequestIds(() => uuids[0] ?? '')
    assert.equal(ids.next(), '11111111-1111-4111-8111-111111100000')
    assert.equal(ids.next(), '11111111-1111-4111-8111-111111100001')
  })

  test('get a new prefix when the counter is used up', () => {
    const left = [...uuids]
    const ids = openRequestIds(() => left.shift() ?? '')
    let last = ''
    for (let count = 0; count < 900_000; count++) last = ids.next()
    assert.equal(last, '11111111-1111-4111-8111-111111999999')
    assert.equal(ids.next(), '22222222-2222-4222-8222-222222100000')
  })

  test('are kept as sent if they are harmless', () => {
    const ids = openRequestIds(() => uuids[0] ?? '')
    assert.equal(ids.of({ 'x-request-id': 'Trace_1.2-3' }), 'Trace_1.2-3')
    assert.equal(ids.of({ cgrequestid: 'abc' }), 'abc')
    for (const sent of ['', 'a b', 'a"b', 'a\nb', 'x'.repeat(129)])
      assert.match(ids.of({ 'x-request-id': sent }), /^11111111-/, sent)
  })
})
