import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from '../../store/sql.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { findOutcome, insertOutcome } from './stored-keys.ts'

const kept = { small: 200, large: 10 }
const newKey = () => ({ id: randomBytes(32).toString('base64url'), digest: 'd' })

onEachStore('stored idempotency keys', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  /** Stores `count` keys of a new caller, one per millisecond. Returns them and those still stored, oldest first. */
  async function storeKeys(count: number, size: number): Promise<{ stored: string[]; left: string[] }> {
    const { identity } = await platform.addIdentity(platform.owner.organization)
    const keys = Array.from({ length: count }, newKey)
    await platform.store.write(function* () {
      for (const [at, key] of keys.entries())
        yield* insertOutcome(key, identity, new Uint8Array(size), at, kept)
    })
    const rows = await platform.store.query(
      sql`select id from idempotency_keys where caller = ${identity} order by create_time`,
    )
    return { stored: keys.map(({ id }) => id), left: rows.map(([id]) => id as string) }
  }

  test('the oldest keys of a caller above the limit are deleted; other callers keep theirs', async () => {
    const other = newKey()
    await platform.store.write(() => insertOutcome(other, platform.owner.identity, new Uint8Array(100), 0))
    const { stored, left } = await storeKeys(3000, 100)
    assert.ok(await platform.store.write(() => findOutcome(other, 1)))
    assert.deepEqual(left, stored.slice(-left.length))
    assert.ok(left.length >= kept.small)
    // One key in 128 triggers the deletion. The chance that none of 2500 keys triggers it is 3e-9.
    assert.ok(left.length < kept.small + 2500, String(left.length))
  })

  test('of keys with large responses, a caller keeps the newest, exactly as many as the limit', async () => {
    const { stored, left } = await storeKeys(25, 9000)
    assert.deepEqual(left, stored.slice(-kept.large))
  })

  test('an expired key is not found and can be stored again', async () => {
    const { identity } = platform.owner
    const key = newKey()
    const dayMs = 24 * 60 * 60 * 1000
    const { store } = platform
    await store.write(() => insertOutcome(key, identity, Buffer.from('first'), 1000))
    const find = (now: number) => store.write(() => findOutcome(key, now))
    assert.equal(Buffer.from((await find(999 + dayMs))?.sealed ?? '').toString(), 'first')
    assert.equal(await find(1000 + dayMs), undefined)
    await store.write(() => insertOutcome(key, identity, Buffer.from('second'), 1000 + dayMs))
    assert.equal(Buffer.from((await find(1001 + dayMs))?.sealed ?? '').toString(), 'second')
  })
})
