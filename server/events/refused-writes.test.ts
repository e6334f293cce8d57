import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { systemOrigin } from '../policy/origin.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import type { Platform } from '../testing/platform.ts'
import { startPlatform } from '../testing/platform.ts'
import { recordedEvents } from '../testing/sealed-events.ts'
import { onEachStore } from '../testing/stores.ts'
import { openRefusedWrites } from './refused-writes.ts'

onEachStore('refused writes', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  test('of somebody with many identities do not fill the log of an organization', async () => {
    const { store, owner } = platform
    const group = owner.organization
    let time = Date.now()
    const now = () => time
    const fail = (error: unknown) => assert.fail(String(error))
    const refused = openRefusedWrites({ store, now, onError: fail, onLost: fail })
    const refuse = (actor: string) => {
      const origin = { ...systemOrigin('rest', 'CreateGroup', { now, random: randomBytes }), actor }
      refused.add({ group, kind: 'groups', uid: group, action: 'refused', code: 7, origin })
    }
    const count = async () => {
      await refused.flush()
      const [row] = await store.query(sql`select count(*) from ${recordedEvents} where action = 'refused'`)
      return row?.[0] as number
    }
    for (let identity = 0; identity < 40; identity++) for (let at = 0; at < 30; at++) refuse(`i${identity}`)
    assert.equal(await count(), 600)
    time += 60_000
    refuse('i0')
    assert.equal(await count(), 601)
    // The other refusals of each identity are recorded as one entry with their count.
    await refused.stop()
    const rows = await store.query(
      sql`select details from ${recordedEvents} where action = 'refused' and details is not null`,
    )
    const others = rows.map(([details]) => JSON.parse(details as string).count as number)
    assert.equal(
      others.reduce((sum, other) => sum + other, 0),
      600,
    )
    assert.ok(others.length <= 40)
  })

  test('of a caller are counted in the log, even if refusals in too many other organizations follow', async () => {
    const { store } = platform
    const { organization } = await platform.addOrganization('crowded')
    const now = () => 0
    const fail = (error: unknown) => assert.fail(String(error))
    const refused = openRefusedWrites({ store, now, onError: fail, onLost: fail })
    const refuse = (actor: string, group: string) => {
      const origin = { ...systemOrigin('rest', 'CreateGroup', { now, random: randomBytes }), actor }
      refused.add({ group, kind: 'groups', uid: group, action: 'refused', code: 7, origin })
    }
    for (let at = 0; at < 70; at++) refuse('first', organization)
    // Organizations that do not exist, so that nothing else is stored.
    for (let other = 0; other < 10_000; other++) {
      refuse('other', other.toString(16).padStart(40, '0'))
      if (other % 1000 === 0) await refused.flush()
    }
    await refused.flush()
    const rows = await store.query(
      sql`select details from ${recordedEvents} where root = ${organization} and details is not null
        and action = 'refused'`,
    )
    assert.deepEqual(rows.flat(), ['{"count":10}'])
    await refused.stop()
  })
  test('are recorded when an unavailable store is available again', async () => {
    const { organization } = await platform.addOrganization('outage')
    let isAvailable = false
    const store: Store = {
      ...platform.store,
      async write(work, deadline) {
        if (!isAvailable) throw new StoreError('unavailable')
        return platform.store.write(work, deadline)
      },
    }
    const now = () => 0
    const errors: unknown[] = []
    const refused = openRefusedWrites({
      ...{ store, now, onError: (error) => errors.push(error) },
      onLost: (count) => assert.fail(`${count} events are lost`),
    })
    const origin = systemOrigin('rest', 'CreateGroup', { now, random: randomBytes })
    refused.add({
      ...{ group: organization, kind: 'groups', uid: organization },
      ...{ action: 'refused', code: 7, origin },
    })
    await refused.flush()
    isAvailable = true
    await refused.stop()
    const rows = await platform.store.query(
      sql`select uid from ${recordedEvents} where root = ${organization} and action = 'refused'`,
    )
    assert.deepEqual([rows.flat(), errors.length], [[organization], 1])
  })
})
