import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunkRange, requestedRange, uploadedRange } from './byte-range.ts'

test('a range of a download is cut off at the end of the content', () => {
  const ranges: [header: string, expected: unknown][] = [
    ['bytes=500-1499', { first: 500, last: 1499 }],
    ['bytes=500-', { first: 500, last: 2047 }],
    ['bytes=-500', { first: 1548, last: 2047 }],
    ['bytes=-5000', { first: 0, last: 2047 }],
    ['bytes=2000-5000', { first: 2000, last: 2047 }],
    ['bytes=0-0', { first: 0, last: 0 }],
  ]
  for (const [header, expected] of ranges) assert.deepEqual(requestedRange(header, 2048), expected, header)
})

test('a range without a byte of the content cannot be satisfied', () => {
  for (const header of ['bytes=500-0', 'bytes=5000-10000', 'bytes=2048-', 'bytes=-0'])
    assert.equal(requestedRange(header, 2048), 'unsatisfiable', header)
  assert.equal(requestedRange('bytes=0-', 0), 'unsatisfiable')
})

test('a header that a server may ignore requests the whole content', () => {
  for (const header of [
    undefined,
    '',
    'bytes=-',
    'bytes=0-1,4-5',
    'items=0-1',
    'bytes=a-b',
    `bytes=0-${'9'.repeat(17)}`,
  ])
    assert.equal(requestedRange(header, 2048), undefined, header)
})

test('the range of a chunk has no unit and no total', () => {
  assert.deepEqual(chunkRange('0-1023'), { first: 0, last: 1023 })
  for (const header of ['bytes 0-1023/2048', '0-', '5-4', '-1', 'a-b', ''])
    assert.equal(chunkRange(header), undefined, header)
})

test('the range of an upload ends with its last byte', () => {
  assert.deepEqual([0, 1, 1024].map(uploadedRange), ['0-0', '0-0', '0-1023'])
})
