import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../store/clock.ts'
import { sql } from '../store/sql.ts'
import { openSqlite } from '../store/sqlite/sqlite.ts'
import { isStoreError } from '../store/test-stores.ts'
import { all } from '../store/work.ts'
import { checkedStore } from './checked-store.ts'

test('a SCIM write that has waited for more than a minute does not run', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-'))
  t.after(() => rm(folder, { recursive: true }))
  let now = 0
  const store = openSqlite(join(folder, 'scim.db'), { clock: { ...systemClock, now: () => now } })
  let checks = 0
  const checked = checkedStore(
    store,
    function* () {
      checks++
      yield* all(sql`select 1`)
    },
    () => 0,
  )
  const write = () => checked.write(() => all(sql`select 1`))
  now = 60_000
  assert.deepEqual(await write(), [[1]])
  now = 60_001
  await assert.rejects(write(), isStoreError('deadline'))
  assert.equal(checks, 1)
  await store.close()
})
