import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePace } from './pace.ts'

const batchBytes = 512 * 1024

/** Lets many uploads hash ten batches each, and returns how many batches were hashed in each turn of the event loop. */
async function hashInTurns(uploads: number, algorithm: 'sha256' | 'sha512'): Promise<number[]> {
  const pace = makePace()
  const turns: number[] = []
  let hashed = 0
  const count = () => {
    turns.push(hashed)
    hashed = 0
  }
  let counting = setImmediate(function next() {
    count()
    counting = setImmediate(next)
  })
  const hash = async () => {
    for (let batch = 0; batch < 10; batch++) {
      await pace(batchBytes, algorithm)
      hashed++
    }
  }
  await Promise.all(Array.from({ length: uploads }, hash))
  clearImmediate(counting)
  count()
  return turns
}

test('hashes at most 4 MiB in one turn of the event loop, or a third of that with SHA-512', async () => {
  for (const [algorithm, batches] of [
    ['sha256', 8],
    ['sha512', 3],
  ] as const) {
    const turns = await hashInTurns(100, algorithm)
    assert.equal(
      turns.reduce((sum, hashed) => sum + hashed, 0),
      1000,
    )
    // The turns of the test and of the pace can be out of step by one.
    assert.ok(Math.max(...turns) <= 2 * batches, `${Math.max(...turns)} batches in one turn`)
  }
})

test('does not delay a single upload, which stays below the limit', () => {
  const pace = makePace()
  assert.equal(pace(batchBytes, 'sha256'), undefined)
  assert.equal(pace(batchBytes, 'sha256'), undefined)
})
