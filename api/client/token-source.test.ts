import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cachedTokenSource } from './token-source.ts'

const hourMs = 3_600_000

function countingSource(lifetimeMs: number, now: () => number) {
  let count = 0
  const source = cachedTokenSource(
    async () => ({ token: `token ${++count}`, expiry: now() + lifetimeMs }),
    now,
  )
  return { source, count: () => count }
}

describe('a cached token source', () => {
  test('fetches a token once for concurrent calls', async () => {
    const { source, count } = countingSource(hourMs, Date.now)
    const tokens = await Promise.all(Array.from({ length: 50 }, source))
    assert.deepEqual(new Set(tokens), new Set(['token 1']))
    assert.equal(await source(), 'token 1')
    assert.equal(count(), 1)
  })

  test('replaces a token a minute or a tenth of its lifetime before it expires, whichever is shorter', async () => {
    for (const [lifetimeMs, usableMs] of [
      [hourMs, hourMs - 60_000],
      [10_000, 9_000],
    ] as const) {
      let time = 1_000_000
      const { source } = countingSource(lifetimeMs, () => time)
      assert.equal(await source(), 'token 1')
      time += usableMs - 1
      assert.equal(await source(), 'token 1')
      time += 1
      assert.equal(await source(), 'token 2')
    }
  })

  test('reports an error to all waiting calls and does not cache it', async () => {
    let count = 0
    const source = cachedTokenSource(async () => {
      count += 1
      if (count === 1) throw new Error('no issuer')
      return { token: 'token', expiry: Date.now() + hourMs }
    })
    const outcomes = await Promise.allSettled([source(), source()])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.equal(await source(), 'token')
    assert.equal(count, 2)
  })

  test('fetches a new token once after several calls invalidate the old one', async () => {
    const { source, count } = countingSource(hourMs, Date.now)
    const first = await source()
    source.invalidate?.(first)
    assert.equal(await source(), 'token 2')
    // Another call, which was also sent with the first token, is rejected later.
    source.invalidate?.(first)
    assert.equal(await source(), 'token 2')
    assert.equal(count(), 2)
  })
})
