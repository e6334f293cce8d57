import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPortion } from './dump.ts'

test('a portion is full if it has 500 rows, or a size of 1 MiB', () => {
  const portion = openPortion()
  for (let at = 0; at < 499; at++) portion.add(['x', at, null])
  assert.equal(portion.isFull(), false)
  portion.add(['x', 499, null])
  assert.equal(portion.isFull(), true)
  assert.equal(portion.drain().length, 500)
  portion.add(['x'.repeat(600_000), new Uint8Array(400_000)])
  assert.equal(portion.isFull(), false)
  portion.add([new Uint8Array(60_000)])
  assert.equal(portion.isFull(), true)
  assert.equal(portion.drain().length, 2)
  assert.deepEqual([portion.isFull(), portion.drain()], [false, []])
})

test('the values of a row are read once, however many rows follow', () => {
  let reads = 0
  const counted = new Proxy(['value'], {
    get(target, key, receiver) {
      if (key === '0') reads++
      return Reflect.get(target, key, receiver)
    },
  })
  const portion = openPortion()
  portion.add(counted)
  for (let at = 0; at < 400; at++) {
    portion.add(['x'])
    portion.isFull()
  }
  assert.equal(reads, 1)
})
