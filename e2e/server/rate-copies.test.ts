// Copies of the server on one database share their rate limits. The clock stands still unless a
// test moves it. Unless a test calls `share`, copies do not tell each other how many calls they
// have counted.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { openLog } from '../../server/log.ts'
import { sql } from '../../server/store/sql.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const perSecond = 10
const burst = 10 * perSecond

onEachStore('three copies', (engine) => {
  // Copies need PostgreSQL: the embedded store has one server.
  const skip = engine === 'sqlite'
  let platform: Platform
  let copies: App[] = []
  let now = 0
  const overrides = { clock: () => now, shareIntervalMs: 3_600_000 }
  before(async () => {
    if (skip) return
    platform = await startPlatform(engine, ['--rate-read', `caller=${perSecond}`], overrides)
    const start = () => startApp({ ...platform.config, port: 0 }, openLog('silent'), overrides)
    copies = [platform.app, await start(), await start()]
    await share()
  })
  after(async () => {
    for (const copy of copies.slice(1)) await copy.stop(true)
    await platform?.stop()
  })

  /** After the second round, every copy knows of all others. */
  async function share(): Promise<void> {
    for (let round = 0; round < 2; round++) for (const copy of copies) await copy.shareLimits()
  }

  /** Calls a copy until it refuses, at most `max` times. Returns how many calls it has admitted. */
  async function callUntilRefused({ port }: App, caller: TestIdentity, max = 500): Promise<number> {
    const headers = { authorization: `Bearer ${caller.token}` }
    for (let calls = 0; calls < max; calls++) {
      const response = await fetch(`http://127.0.0.1:${port}/iam/v2beta1/groups/${caller.organization}`, {
        headers,
      })
      await response.arrayBuffer()
      if (response.status === 429) return calls
      assert.equal(response.status, 200)
    }
    return max
  }

  /** The number of calls that these copies admit in this many seconds, if the caller never stops calling. */
  async function total(seconds: number, used: readonly App[]): Promise<number> {
    const caller = await platform.addIdentity(platform.owner.organization, 'viewer')
    let admitted = 0
    for (let second = 0; second < seconds; second++) {
      for (const copy of used) admitted += await callUntilRefused(copy, caller)
      now += 1000
      await share()
    }
    return admitted
  }

  test('together admit between half and twice as many calls as one would', { skip }, async () => {
    const allowed = burst + perSecond * 14
    const admitted = await total(15, copies)
    assert.ok(admitted >= allowed / 2 && admitted <= 2 * allowed, `${admitted} of ${allowed}`)
    assert.ok((await total(1, copies)) <= 2 * burst)
  })

  test('admit at least half of the limit of a caller that calls only one of them', { skip }, async () => {
    for (const copy of copies) {
      const admitted = await total(5, [copy])
      assert.ok(admitted >= (burst + perSecond * 4) / 2, `${admitted}`)
      assert.ok(admitted <= burst + perSecond * 4, `${admitted}`)
    }
  })

  test('notice a copy that stops or dies, and remove its row', { skip }, async () => {
    const rows = async () => (await platform.store.query(sql`select id from rate_copies`)).length
    const [first] = copies
    assert.ok(first)
    assert.equal(await rows(), 3)
    await platform.store.write(function* () {
      yield sql`insert into rate_copies (id, round, usage) values ('dead', 7, '[]')`
    })
    await copies.pop()?.stop(true)
    await share()
    assert.equal(await rows(), 3, 'the copy that stopped has removed itself')
    const caller = await platform.addIdentity(platform.owner.organization, 'viewer')
    const asOneOfThree = await callUntilRefused(first, caller)
    assert.ok(asOneOfThree >= burst / 2 && asOneOfThree < burst, `${asOneOfThree}`)
    now += 10_000
    await share()
    assert.equal(await rows(), 2)
    const other = await platform.addIdentity(platform.owner.organization, 'viewer')
    assert.ok((await callUntilRefused(first, other)) > asOneOfThree)
  })
})
