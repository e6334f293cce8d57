import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from '../../store/sql.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { networksOf } from '../../wire/client-network.ts'
import type { ExpiringStates } from './expiring-states.ts'
import { openExpiringStates } from './expiring-states.ts'

onEachStore('device codes that nobody has entered', (engine) => {
  let platform: Platform
  let states: ExpiringStates
  let time = 1_000_000
  let codeCount = 0
  before(async () => {
    platform = await startPlatform(engine)
    const deviceCodeLimits = { narrow: 3, middle: 5, wide: 8, total: 12 }
    states = openExpiringStates({ secret: platform.secret, now: () => time, deviceCodeLimits })
  })
  beforeEach(() => platform.store.write(deleteAll))
  after(() => platform.stop())

  function* deleteAll() {
    yield sql`delete from sign_in_states`
  }

  /** Returns whether the code was stored. */
  async function putAs(id: string, address: string): Promise<boolean> {
    time++
    const keys = { networks: networksOf(address), userCode: id }
    return platform.store
      .write(() => states.put('DeviceCode', id, {}, 60, keys))
      .then(
        () => true,
        (error: { http?: number }) => {
          assert.equal(error.http, 429)
          return false
        },
      )
  }

  /** Puts a new code for each address, and returns the addresses that were refused. */
  async function put(...addresses: string[]): Promise<string[]> {
    const refused: string[] = []
    for (const address of addresses) if (!(await putAs(`code ${codeCount++}`, address))) refused.push(address)
    return refused
  }

  const isKept = async (id: string) =>
    (await platform.store.read(() => states.find('DeviceCode', id))) !== undefined

  const count = async () => {
    const [row] = await platform.store.query(sql`select count(*) from sign_in_states`)
    return Number(row?.[0])
  }

  test('are limited for each address, and codes stored before the limit was reached are kept', async () => {
    const flood = Array<string>(5).fill('192.0.2.1')
    await putAs('earlier', '192.0.2.1')
    assert.deepEqual(await put(...flood), Array(3).fill('192.0.2.1'))
    assert.ok(await isKept('earlier'))
    assert.deepEqual(await put('192.0.2.2', '198.51.100.1', '2001:db8::1'), [])
  })

  test('are limited for a client that has many IPv6 networks (/64)', async () => {
    const addresses = Array.from({ length: 9 }, (_, at) => `2001:db8:1:${at + 1}::1`)
    await putAs('earlier', '2001:db8:1::1')
    assert.deepEqual(await put(...addresses), addresses.slice(4), 'within a /48')
    const wider = Array.from({ length: 9 }, (_, at) => `2001:db8:${at + 2}::1`)
    assert.deepEqual(await put(...wider), wider.slice(3), 'within a /32')
    assert.ok(await isKept('earlier'))
    assert.deepEqual(await put('2001:db9::1'), [])
  })

  test('of networks with few codes are kept if there are too many codes in total', async () => {
    await putAs('earlier', '203.0.113.1')
    const flood = Array.from({ length: 30 }, (_, at) => `2001:db${at % 3}:${at}::1`)
    await put(...flood)
    assert.equal(await count(), 12)
    assert.ok(
      await putAs('later', '198.51.100.1'),
      'a network without a code replaces a code of the network with the most codes',
    )
    assert.equal(await count(), 12)
    assert.ok(await isKept('earlier'))
    assert.deepEqual(await put('198.51.100.1'), ['198.51.100.1'], 'a network with a code is refused')
    assert.ok(await isKept('later'))
  })

  test('are not replaced if no network has more than one', async () => {
    const spread = Array.from({ length: 12 }, (_, at) => `10.${at}.0.1`)
    for (const address of spread) assert.ok(await putAs(address, address))
    assert.deepEqual(await put('192.0.2.1'), ['192.0.2.1'])
    for (const address of spread) assert.ok(await isKept(address))
  })

  test('no longer count towards the limits once they have expired or belong to a person', async () => {
    await putAs('entered', '192.0.2.1')
    await put('192.0.2.1', '192.0.2.1')
    const identity = platform.owner.identity
    await platform.store.write(() => states.put('DeviceCode', 'entered', {}, 60, { identity }))
    assert.deepEqual(await put('192.0.2.1', '192.0.2.1'), ['192.0.2.1'])
    time += 60_000
    assert.deepEqual(await put('192.0.2.1'), [])
  })

  test('can be changed from another network, even if that network has reached its limit', async () => {
    await putAs('changed', '198.51.100.1')
    await put(...Array<string>(3).fill('192.0.2.1'))
    const keys = { networks: networksOf('192.0.2.1'), userCode: 'changed' }
    await platform.store.write(() => states.put('DeviceCode', 'changed', { inFlight: true }, 60, keys))
    const found = await platform.store.read(() => states.findByUserCode('DeviceCode', 'changed'))
    assert.deepEqual(found?.payload, { inFlight: true })
    const addresses = Array<string>(3).fill('198.51.100.1')
    assert.deepEqual(
      await put(...addresses),
      ['198.51.100.1'],
      'the code still counts for the network that requested it',
    )
  })
})
