import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeText } from './size-text.ts'

test('a size has three digits and the largest fitting unit', () => {
  const sizes = [0, 1, 999, 1000, 1234, 999_499, 999_500, 4_214_000, 10 * 2 ** 30]
  assert.deepEqual(sizes.map(sizeText), [
    ...['0 B', '1 B', '999 B', '1 kB', '1.23 kB', '999 kB', '1 MB', '4.21 MB', '10.7 GB'],
  ])
})
