import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesText } from './byte-units.ts'

test('bytes are shown in the largest unit that fits; from kB on, numbers below 10 have one decimal', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9949, '9.9 kB'],
    [9950, '10 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [345_000_000, '345 MB'],
    [7e15, '7.0 PB'],
    [7e18, '7000 PB'],
  ]
  for (const [bytes, text] of cases) assert.equal(bytesText(bytes), text)
})
