// What token sources remember, and for how long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remembering } from './tokens.ts'

const hour = 3_600_000

function counted(life: number, now: () => number) {
  let count = 0
  const source = remembering(async () => ({ token: `token ${++count}`, expiry: now() + life }), now)
  return { source, count: () => count }
}

test('a token is fetched once, however many ask at once', async () => {
  const { source, count } = counted(hour, Date.now)
  const tokens = await Promise.all(Array.from({ length: 50 }, source))
  assert.deepEqual(new Set(tokens), new Set(['token 1']))
  assert.equal(await source(), 'token 1')
  assert.equal(count(), 1)
})

test('a token is used until shortly before its end', async () => {
  for (const [life, usable] of [
    [hour, hour - 60_000],
    [10_000, 9_000],
  ] as const) {
    let time = 1_000_000
    const { source } = counted(life, () => time)
    assert.equal(await source(), 'token 1')
    time += usable - 1
    assert.equal(await source(), 'token 1')
    time += 1
    assert.equal(await source(), 'token 2')
  }
})

test('a failure is told to all who waited, and not remembered', async () => {
  let count = 0
  const source = remembering(async () => {
    count += 1
    if (count === 1) throw new Error('no issuer')
    return { token: 'token', expiry: Date.now() + hour }
  })
  const outcomes = await Promise.allSettled([source(), source()])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await source(), 'token')
  assert.equal(count, 2)
})

test('a token that was refused is fetched anew, once', async () => {
  const { source, count } = counted(hour, Date.now)
  const first = await source()
  source.forget?.(first)
  assert.equal(await source(), 'token 2')
  // Another call that was refused with the first comes late.
  source.forget?.(first)
  assert.equal(await source(), 'token 2')
  assert.equal(count(), 2)
})
