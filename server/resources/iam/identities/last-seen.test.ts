import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Platform } from '../../../testing/platform.ts'
import { startPlatform } from '../../../testing/platform.ts'
import { onEachStore } from '../../../testing/stores.ts'
import { lockResource } from '../../stored-resource.ts'
import { noteSeen, openLastSeen } from './last-seen.ts'
import { identities } from './table.ts'

onEachStore('when an identity was last seen', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  const read = async (uid: string) => {
    const stored = await platform.store.write(() => lockResource(identities, uid))
    assert.ok(stored)
    const { lastSeenTime } = stored.resource
    return { updateTime: stored.updateTime, seen: lastSeenTime ? timestampMs(lastSeenTime) : 0 }
  }

  test('is written at most once a minute, and is no change', async () => {
    const { identity } = platform.owner
    const before = await read(identity)
    const minute = 60_000
    await noteSeen(platform.store, identity, before.seen + minute - 1)
    assert.deepEqual(await read(identity), before)
    await noteSeen(platform.store, identity, before.seen + minute)
    assert.deepEqual(await read(identity), { ...before, seen: before.seen + minute })
    await noteSeen(platform.store, identity, before.seen)
    assert.equal((await read(identity)).seen, before.seen + minute, 'it never goes back')
  })

  test('is noted beside the call, and of many calls at once one writes', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization)
    let writes = 0
    let now = Date.now() + 120_000
    const counting = {
      ...platform.store,
      write: ((...args) => ++writes && platform.store.write(...args)) as typeof platform.store.write,
    }
    const note = openLastSeen(
      counting,
      () => now,
      () => assert.fail(),
    )
    for (let time = 0; time < 100; time++) note(identity)
    assert.equal(writes, 1)
    now += 61_000
    note(identity)
    assert.equal(writes, 2)
    while ((await read(identity)).seen !== now) await pause(5)
  })

  test('of somebody who is gone is nobody’s fault', async () => {
    const failures: unknown[] = []
    const note = openLastSeen(platform.store, Date.now, (error) => failures.push(error))
    note(`${platform.owner.organization}/${'0'.repeat(16)}`)
    await noteSeen(platform.store, `${platform.owner.organization}/${'1'.repeat(16)}`, Date.now())
    assert.deepEqual(failures, [])
  })
})
