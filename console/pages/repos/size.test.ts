import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeText } from './size.ts'

test('a size has the unit of its rounded value', () => {
  const sizes = [0, 999, 1000, 9_950, 999_499, 999_500, 1_200_000, 12_300_000]
  assert.deepEqual(sizes.map(sizeText), [
    '0 B',
    '999 B',
    '1 kB',
    '10 kB',
    '999 kB',
    '1 MB',
    '1.2 MB',
    '12 MB',
  ])
  assert.equal(sizeText(undefined), '0 B')
})
