import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeBits, encodeBits } from './bits.ts'
import { allCapabilities, capabilityNamed } from './capabilities.ts'

const numbers = allCapabilities.map(({ number }) => number as number)
const bitOf = new Map(allCapabilities.map(({ number, bit }) => [number as number, bit]))
const numberNamed = (name: string) => capabilityNamed(name)?.number ?? 0

/** The bit length that an encoding states, and its words. */
function read(text: string): { length: number; words: bigint[] } {
  const bytes = Buffer.from(text, 'base64')
  const words = Array.from({ length: bytes.length / 8 - 1 }, (_, at) => bytes.readBigUInt64BE(8 + at * 8))
  return { length: Number(bytes.readBigUInt64BE()), words }
}

describe('a set of capabilities', () => {
  const encoded = 'AAAAAAAAAHxEQgBAgIBESAiIGDBAiqlk'

  test('is encoded as in tokens of the public platform', () => {
    assert.deepEqual(read(encoded), { length: 124, words: [0x4442004080804448n, 0x08881830408aa964n] })
    const bits = decodeBits(encoded)
    const capabilities = numbers.filter((number) => bits.has(bitOf.get(number) ?? -1))
    assert.equal(capabilities.length, bits.size)
    assert.equal(encodeBits(capabilities), encoded)
  })

  test('is decoded to the same set', () => {
    fc.assert(
      fc.property(fc.subarray(numbers), (subset) => {
        const bits = decodeBits(encodeBits(subset))
        assert.deepEqual(
          [...bits].sort((a, b) => a - b),
          subset.map((number) => bitOf.get(number) ?? -1).sort((a, b) => a - b),
        )
      }),
    )
  })

  test('has the same encoding in any order and with duplicates', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(numbers), (subset) => {
        assert.equal(
          encodeBits([...subset, ...subset]),
          encodeBits(new Set(subset.toSorted((a, b) => a - b))),
        )
      }),
    )
  })

  test('is as long as its highest bit, and at least 50 bits', () => {
    assert.deepEqual(read(encodeBits([])), { length: 50, words: [0n] })
    assert.deepEqual(read(encodeBits([numberNamed('groups.create')])), { length: 50, words: [2n] })
    assert.equal(read(encodeBits([numberNamed('record_policy_results.list')])).length, 51)
    const { length, words } = read(encodeBits([numberNamed('tag.create')]))
    assert.deepEqual([length, words], [65, [0n, 1n]])
  })

  test('is base64url with padding', () => {
    assert.equal(encodeBits([]).length, 24)
    assert.ok(encodeBits([]).endsWith('=='))
    fc.assert(
      fc.property(fc.subarray(numbers), (subset) => /^[A-Za-z0-9_-]+={0,2}$/.test(encodeBits(subset))),
    )
  })

  test('leaves out numbers that are not capabilities', () => {
    assert.equal(encodeBits([0, 1, 1601, 99999, -1, 103]), encodeBits([103]))
  })

  test('is empty if the encoding is too short', () => {
    for (const text of ['', 'AAAA', '!', 'AAAAAAAAAHw', encodeBits([]).slice(0, 12)])
      assert.equal(decodeBits(text).size, 0)
  })
})
