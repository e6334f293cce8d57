import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../store/sql.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import type { ExpiringStates } from './expiring-states.ts'
import { openExpiringStates } from './expiring-states.ts'

onEachStore('sign-in states without an identity', (engine) => {
  let platform: Platform
  let states: ExpiringStates
  let time = 1_000_000
  before(async () => {
    platform = await startPlatform(engine)
    const anonymousLimits = { perNetwork: 5, total: 50 }
    states = openExpiringStates({ secret: platform.secret, now: () => time, anonymousLimits })
  })
  after(() => platform.stop())

  const put = async (id: string, network?: string, seconds = 60) => {
    time++
    await platform.store.write(() => states.put('Test', id, {}, seconds, { network }))
  }
  const kept = async (ids: string[]) => {
    const found = await Promise.all(
      ids.map(async (id) => ((await platform.store.read(() => states.find('Test', id))) ? [id] : [])),
    )
    return found.flat()
  }
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)

  test('are limited for each network: the newest are kept, whatever their lifetime', async () => {
    await put('other', 'another network')
    await put('owned')
    for (const [at, id] of names('a', 9).entries()) await put(id, 'one network', 60 + 9 - at)
    assert.deepEqual(await kept(['other', 'owned', ...names('a', 9)]), [
      'other',
      'owned',
      'a4',
      'a5',
      'a6',
      'a7',
      'a8',
    ])
  })

  test('are limited in total', async () => {
    for (const id of names('b', 300)) await put(id, `network of ${id}`)
    const [row] = await platform.store.query(
      sql`select count(*) from sign_in_states where network is not null`,
    )
    // The total is checked once for every 100 new states, so there may be 100 more than the limit.
    assert.ok(Number(row?.[0]) <= 150, `${row?.[0]} are kept`)
    assert.deepEqual(await kept(['b0', 'b299', 'owned']), ['b299', 'owned'])
  })

  test('no longer count towards the limit once a person has signed in', async () => {
    await put('c', 'a third network')
    await platform.store.write(() => states.put('Test', 'c', {}, 60, { identity: platform.owner.identity }))
    for (const id of names('d', 6)) await put(id, 'a third network')
    assert.deepEqual(await kept(['c', 'd0', 'd1']), ['c', 'd1'])
  })
})
