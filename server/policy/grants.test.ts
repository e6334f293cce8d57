import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fromBinary } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import fc from 'fast-check'
import { StatusError } from '../aip/errors.ts'
import { contains } from '../aip/region.ts'
import { isAtOrBelow, newChildUid } from '../aip/uid.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { sql } from '../store/sql.ts'
import type { Form } from '../store/table.ts'
import { smallTree, uidInSmallTree } from '../testing/arbitraries.ts'
import type { TestIdentity } from '../testing/identities.ts'
import type { Platform } from '../testing/platform.ts'
import { startPlatform } from '../testing/platform.ts'
import { onEachStore } from '../testing/stores.ts'
import type { Caller } from '../wire/caller.ts'
import { decodeBits, encodeBits } from './bits.ts'
import type { Grants } from './grants.ts'
import { grantsWithRow, holds, reach, readGrants, splitGrantsAndRow } from './grants.ts'

const { CAP_IAM_GROUPS_LIST: list, CAP_IAM_GROUPS_CREATE: create, CAP_IAM_GROUPS_DELETE: remove } = Capability

describe('what a caller holds', () => {
  const binding = fc.record({
    place: uidInSmallTree,
    bits: fc.subarray([list, create, remove]).map((held) => decodeBits(encodeBits(held))),
  })
  const anyGrants = fc
    .array(binding, { maxLength: 6 })
    .map((held): Grants => ({ caller: { identity: 'x', issuedAt: 0 }, held }))
  const demanded = fc.subarray([list, create], { minLength: 1 })

  /** Each capability may come by another binding, at the place or above it. */
  function isHeld(grants: Grants, capabilities: number[], uid: string): boolean {
    return capabilities.every((capability) => {
      const [bit = -1] = decodeBits(encodeBits([capability]))
      return grants.held.some(({ place, bits }) => isAtOrBelow(uid, place) && bits.has(bit))
    })
  }

  test('is held at the place of a binding and everywhere below it', () => {
    fc.assert(
      fc.property(anyGrants, demanded, uidInSmallTree, (grants, capabilities, uid) => {
        assert.equal(holds(grants, capabilities, uid), isHeld(grants, capabilities, uid))
      }),
    )
  })

  test('reaches exactly the uids at which it is held, each once', () => {
    fc.assert(
      fc.property(anyGrants, demanded, (grants, capabilities) => {
        const regions = reach(grants, capabilities)
        for (const uid of smallTree) {
          const times = regions.filter((region) => contains(region, uid)).length
          assert.equal(times, isHeld(grants, capabilities, uid) ? 1 : 0)
        }
        const uids = regions.map(({ uid }) => uid)
        assert.deepEqual(uids, uids.toSorted())
      }),
    )
  })

  test('never includes what is no capability', () => {
    const held = [{ place: smallTree[0] ?? '', bits: new Set(Array.from({ length: 256 }, (_, bit) => bit)) }]
    const grants = { caller: { identity: 'x', issuedAt: 0 }, held }
    for (const number of [0, 1601, 99999]) {
      assert.equal(holds(grants, [number], smallTree[0] ?? ''), false)
      assert.deepEqual(reach(grants, [list, number]), [])
    }
  })
})

onEachStore('grants', (engine) => {
  let platform: Platform
  let viewer: TestIdentity
  let below: string
  const callerOf = (identity: string, issuedAt = Math.floor(Date.now() / 1000)): Caller => ({
    identity,
    issuedAt,
  })
  const read = async (caller: Caller, place?: string, isWrite = false) => {
    const work = () => readGrants(caller, place, isWrite)
    return isWrite ? platform.store.write(work) : platform.store.read(work)
  }
  const readRow = async (caller: Caller, place: string, form: Form = { kind: 'json', shape: groups.shape }) =>
    splitGrantsAndRow(
      caller,
      place,
      await platform.store.query(grantsWithRow(caller, place, groups.table, form)),
    )
  const gone = (error: unknown) => error instanceof StatusError && error.http === 401

  before(async () => {
    platform = await startPlatform(engine)
    viewer = await platform.addIdentity(platform.owner.organization, 'viewer')
    below = newChildUid(platform.owner.organization, 0, (size) => Buffer.alloc(size, 7))
  })
  after(() => platform.stop())

  test('are read with the place and the capabilities of each binding', async () => {
    const grants = await read(callerOf(viewer.identity))
    assert.deepEqual(
      grants.held.map(({ place }) => place),
      [platform.owner.organization],
    )
    assert.equal(holds(grants, [list], below), true)
    assert.equal(holds(grants, [list, create], below), false)
  })

  test('are the same in a read, in a write and together with a row', async () => {
    const { organization } = platform.owner
    const caller = callerOf(viewer.identity)
    const expected = await read(caller)
    assert.deepEqual(await read(caller, organization), expected)
    assert.deepEqual(await read(caller, below, true), expected)
    const { grants, row } = await readRow(caller, organization)
    assert.deepEqual(grants, expected)
    assert.equal(JSON.parse(row?.rendered as string).uid, organization)
  })

  test('come with bytes where they are asked for, and with nothing where JSON is of another shape', async () => {
    const caller = callerOf(viewer.identity)
    const { organization } = platform.owner
    const { row } = await readRow(caller, organization, { kind: 'bytes' })
    assert.equal(fromBinary(GroupSchema, row?.rendered as Uint8Array).name, 'acme')
    const stale = await readRow(caller, organization, { kind: 'json', shape: 'another' })
    assert.equal(stale.row?.rendered, null)
    assert.equal(stale.row?.updateTime, row?.updateTime)
  })

  test('come without a row where there is none', async () => {
    const { grants, row } = await readRow(callerOf(viewer.identity), below)
    assert.equal(row, undefined)
    assert.equal(holds(grants, [list], below), true)
  })

  test('are left out where they do not reach the place that is asked for', async () => {
    const other = await platform.addOrganization('other')
    assert.deepEqual((await read(callerOf(viewer.identity), other.organization)).held, [])
    const { grants, row } = await readRow(callerOf(viewer.identity), other.organization)
    assert.deepEqual(grants.held, [])
    assert.notEqual(row, undefined)
  })

  test('are felt to be gone by the next call', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'editor')
    assert.equal((await read(callerOf(identity))).held.length, 1)
    await platform.unbind(identity)
    assert.deepEqual((await read(callerOf(identity))).held, [])
  })

  test('are refused to an identity that does not exist, or no longer', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'editor')
    await platform.deleteIdentity(identity)
    for (const uid of [identity, '', `x' or '1'='1`, '\ud800']) {
      await assert.rejects(read(callerOf(uid)), gone)
      await assert.rejects(readRow(callerOf(uid), platform.owner.organization), gone)
    }
  })

  test('are refused to a token that is older than its identity, to the second', async () => {
    const [row] = await platform.store.query(
      sql`select create_time from identities where uid = ${viewer.identity}`,
    )
    const second = Math.floor((row?.[0] as number) / 1000)
    assert.equal((await read(callerOf(viewer.identity, second))).held.length, 1)
    await assert.rejects(read(callerOf(viewer.identity, second - 1)), gone)
    await assert.rejects(readRow(callerOf(viewer.identity, second - 1), platform.owner.organization), gone)
  })
})
