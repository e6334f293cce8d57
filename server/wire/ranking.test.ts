import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openRanking } from './ranking.ts'

test('the largest item has the maximum size after every change', () => {
  const change = fc.record({ item: fc.nat(4), isGrowing: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const ranking = openRanking<number>()
      const sizes = [0, 0, 0, 0, 0]
      for (const { item, isGrowing } of changes) {
        const size = sizes[item] ?? 0
        const next = isGrowing ? size + 1 : Math.max(size - 1, 0)
        if (next === size) continue
        ranking.resize(item, size, next)
        sizes[item] = next
        const largest = ranking.largest()
        assert.equal(largest === undefined ? 0 : sizes[largest], Math.max(...sizes))
      }
    }),
  )
})

test('of several items of the largest size, the first to reach it is the largest', () => {
  const ranking = openRanking<string>()
  for (const item of ['a', 'b', 'c']) ranking.resize(item, 0, 1)
  assert.equal(ranking.largest(), 'a')
  for (const item of ['c', 'a']) ranking.resize(item, 1, 2)
  assert.equal(ranking.largest(), 'c')
})
