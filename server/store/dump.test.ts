import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRowCollector } from './dump.ts'

test('a portion is full if it has 500 rows, or a size of 1 MiB', () => {
  const collector = openRowCollector()
  for (let at = 0; at < 499; at++) collector.add(['x', at, null])
  assert.equal(collector.isFull(), false)
  collector.add(['x', 499, null])
  assert.equal(collector.isFull(), true)
  assert.equal(collector.drain().length, 500)
  collector.add(['x'.repeat(600_000), new Uint8Array(400_000)])
  assert.equal(collector.isFull(), false)
  collector.add([new Uint8Array(60_000)])
  assert.equal(collector.isFull(), true)
  assert.equal(collector.drain().length, 2)
  assert.deepEqual([collector.isFull(), collector.drain()], [false, []])
})

test('the values of a row are read once, however many rows follow', () => {
  let reads = 0
  const counted = new Proxy(['value'], {
    get(target, key, receiver) {
      if (key === '0') reads++
      return Reflect.get(target, key, receiver)
    },
  })
  const collector = openRowCollector()
  collector.add(counted)
  for (let at = 0; at < 400; at++) {
    collector.add(['x'])
    collector.isFull()
  }
  assert.equal(reads, 1)
})
