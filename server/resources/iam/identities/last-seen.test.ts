import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { signInAccess } from '../../../policy/system-access.ts'
import type { Store } from '../../../store/db.ts'
import type { Platform } from '../../../testing/platform.ts'
import { startPlatform } from '../../../testing/platform.ts'
import { onEachStore } from '../../../testing/stores.ts'
import { lockResource } from '../../stored-resource.ts'
import { openLastSeen, writeLastSeen } from './last-seen.ts'
import { identities } from './table.ts'

onEachStore('the last-seen time of an identity', (engine) => {
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

  const record = (uid: string, time: number) =>
    platform.store.write(() => writeLastSeen(signInAccess(new Map()), uid, time))

  test('changes at most once a minute and keeps the update time', async () => {
    const { identity } = platform.owner
    const initial = await read(identity)
    const minute = 60_000
    await record(identity, initial.seen + minute - 1)
    assert.deepEqual(await read(identity), initial)
    await record(identity, initial.seen + minute)
    assert.deepEqual(await read(identity), { ...initial, seen: initial.seen + minute })
    await record(identity, initial.seen)
    assert.deepEqual(await read(identity), { ...initial, seen: initial.seen + minute })
  })

  test('is written once for many calls within a minute, without blocking them', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization)
    let writes = 0
    let now = Date.now() + 120_000
    const write: Store['write'] = (work, deadline) => {
      writes++
      return platform.store.write(work, deadline)
    }
    const recordSeen = openLastSeen({
      store: { ...platform.store, write },
      access: signInAccess(new Map()),
      now: () => now,
      onError: () => assert.fail(),
    })
    for (let calls = 0; calls < 100; calls++) recordSeen(identity)
    assert.equal(writes, 1)
    now += 61_000
    recordSeen(identity)
    assert.equal(writes, 2)
    while ((await read(identity)).seen !== now) await pause(5)
  })

  test('is ignored without an error if the identity was deleted', async () => {
    const errors: unknown[] = []
    const recordSeen = openLastSeen({
      ...{ store: platform.store, access: signInAccess(new Map()), now: Date.now },
      onError: (error) => errors.push(error),
    })
    recordSeen(`${platform.owner.organization}/${'0'.repeat(16)}`)
    await record(`${platform.owner.organization}/${'1'.repeat(16)}`, Date.now())
    assert.deepEqual(errors, [])
  })
})
