import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fromBinary } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import fc from 'fast-check'
import { StatusError } from '../aip/errors.ts'
import { contains } from '../aip/region.ts'
import { isAtOrBelow, lineage, newChildUid } from '../aip/uid.ts'
import { signOutEverywhere } from '../auth/sign-outs.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { renderedRow } from '../store/row-query.ts'
import { endSignIn } from '../store/sign-ins.ts'
import { sql } from '../store/sql.ts'
import type { Form } from '../store/table.ts'
import { all } from '../store/work.ts'
import { smallTree, uidInSmallTree } from '../testing/arbitraries.ts'
import type { TestIdentity } from '../testing/identities.ts'
import type { Platform } from '../testing/platform.ts'
import { startPlatform } from '../testing/platform.ts'
import { onEachStore } from '../testing/stores.ts'
import type { Caller } from '../wire/caller.ts'
import { decodeBits, encodeBits } from './bits.ts'
import type { Grants } from './grants.ts'
import { grantedRegions, holds, indexGrants, missingAt, openGrantParser, parseGrants } from './grants.ts'
import { grantsWithRow, lockGrants, readGrants, readGrantsAndRow } from './read-grants.ts'

const { CAP_IAM_GROUPS_LIST: list, CAP_IAM_GROUPS_CREATE: create, CAP_IAM_GROUPS_DELETE: remove } = Capability

describe('grants', () => {
  const binding = fc.record({
    group: uidInSmallTree,
    bits: fc.subarray([list, create, remove]).map((held) => decodeBits(encodeBits(held))),
  })
  const anyGrants = fc
    .array(binding, { maxLength: 6 })
    .map((granted): Grants => ({ caller: { identity: 'x', issuedAt: 0 }, time: 0, list: granted }))
  const demanded = fc.subarray([list, create], { minLength: 1 })

  /** Each capability may be granted by a different binding, at the uid or above it. */
  function isHeld(grants: Grants, capabilities: number[], uid: string): boolean {
    return capabilities.every((capability) => {
      const [bit = -1] = decodeBits(encodeBits([capability]))
      return grants.list.some(({ group, bits }) => isAtOrBelow(uid, group) && bits.has(bit))
    })
  }

  test('apply in the group of a binding and everywhere below it', () => {
    fc.assert(
      fc.property(anyGrants, demanded, uidInSmallTree, (grants, capabilities, uid) => {
        assert.equal(holds(grants, capabilities, uid), isHeld(grants, capabilities, uid))
      }),
    )
  })

  test('are converted to disjoint regions that contain exactly the uids at which they apply', () => {
    fc.assert(
      fc.property(anyGrants, demanded, (grants, capabilities) => {
        const regions = grantedRegions(grants, capabilities)
        for (const uid of smallTree) {
          const containing = regions.filter((region) => contains(region, uid))
          assert.equal(containing.length, isHeld(grants, capabilities, uid) ? 1 : 0)
        }
        const uids = regions.map(({ uid }) => uid)
        assert.deepEqual(uids, uids.toSorted())
      }),
    )
  })

  test('report the first demanded bit that no binding at the uid or above it has', () => {
    fc.assert(
      fc.property(anyGrants, uidInSmallTree, (grants, uid) => {
        const bits = decodeBits(encodeBits([list, create]))
        const missing = [...bits].filter(
          (bit) => !grants.list.some((grant) => grant.bits.has(bit) && isAtOrBelow(uid, grant.group)),
        )
        assert.equal(missingAt(grants, bits, uid), missing[0])
        assert.equal(indexGrants(grants)(bits, uid), missing[0])
      }),
    )
  })

  test('never include a number that is not a capability', () => {
    const granted = [
      { group: smallTree[0] ?? '', bits: new Set(Array.from({ length: 256 }, (_, bit) => bit)) },
    ]
    const grants = { caller: { identity: 'x', issuedAt: 0 }, time: 0, list: granted }
    for (const number of [0, 1601, 99999]) {
      assert.equal(holds(grants, [number], smallTree[0] ?? ''), false)
      assert.deepEqual(grantedRegions(grants, [list, number]), [])
    }
  })
})

describe('parsing grants', () => {
  const text = `a ${encodeBits([list])},b ${encodeBits([list, create])} 1000`
  const expected = [
    { group: 'a', bits: decodeBits(encodeBits([list])), until: undefined },
    { group: 'b', bits: decodeBits(encodeBits([list, create])), until: 1000 },
  ]

  test('returns the group, the bits and the end of each binding', () => {
    assert.deepEqual(parseGrants(text), expected)
  })

  test('with a cache returns the same grants', () => {
    const parse = openGrantParser()
    assert.deepEqual(parse(text), expected)
    assert.equal(parse(text), parse(text))
    for (let count = 0; count < 2000; count++) parse(`${count} ${encodeBits([list])}`)
    assert.deepEqual(parse(text), expected)
  })

  test('does not cache the grants of a caller with many bindings', () => {
    const parse = openGrantParser()
    const many = Array<string>(1000).fill(text).join()
    assert.equal(parse(many).length, 2000)
    assert.notEqual(parse(many), parse(many))
  })
})

onEachStore('reading grants', (engine) => {
  let platform: Platform
  let viewer: TestIdentity
  /** A uid below the organization at which no group exists. */
  let absentGroup: string
  const callerOf = (identity: string, issuedAt = Math.floor(Date.now() / 1000)): Caller => ({
    identity,
    issuedAt,
  })
  const now = Date.now()
  const read = async (caller: Caller, scope?: string, isWrite = false) => {
    if (isWrite) return platform.store.write(() => lockGrants({ caller, time: now }, scope))
    return platform.store.read(() => readGrants(caller, now, scope))
  }
  const readRow = async (caller: Caller, uid: string, form: Form = { kind: 'json', shape: groups.shape }) =>
    readGrantsAndRow(
      platform.store,
      { caller, time: now, scope: uid, query: renderedRow(groups.table, uid, form, now) },
      parseGrants,
    )
  const isUnauthenticated = (error: unknown) => error instanceof StatusError && error.http === 401

  before(async () => {
    platform = await startPlatform(engine)
    viewer = await platform.addIdentity(platform.owner.organization, 'viewer')
    absentGroup = newChildUid(platform.owner.organization, 0, (size) => Buffer.alloc(size, 7))
  })
  after(() => platform.stop())

  test('returns the group and the capabilities of each binding', async () => {
    const grants = await read(callerOf(viewer.identity))
    assert.deepEqual(
      grants.list.map(({ group }) => group),
      [platform.owner.organization],
    )
    assert.equal(holds(grants, [list], absentGroup), true)
    assert.equal(holds(grants, [list, create], absentGroup), false)
  })

  test('returns the same grants in a read, in a write and together with a row', async () => {
    const { organization } = platform.owner
    const caller = callerOf(viewer.identity)
    const expected = await read(caller)
    assert.deepEqual(await read(caller, organization), expected)
    assert.deepEqual(await read(caller, absentGroup, true), expected)
    const { grants, row } = await readRow(caller, organization)
    assert.deepEqual(grants, expected)
    assert.equal(JSON.parse(row?.[1] as string).uid, organization)
  })

  test('returns the bytes of a row on request, and null for JSON of another shape', async () => {
    const caller = callerOf(viewer.identity)
    const { organization } = platform.owner
    const { row } = await readRow(caller, organization, { kind: 'bytes' })
    assert.equal(fromBinary(GroupSchema, row?.[1] as Uint8Array).name, 'acme')
    const stale = await readRow(caller, organization, { kind: 'json', shape: 'another' })
    assert.deepEqual(stale.row, [row?.[0], null])
  })

  test('returns no row if there is none', async () => {
    const { grants, row } = await readRow(callerOf(viewer.identity), absentGroup)
    assert.equal(row, undefined)
    assert.equal(holds(grants, [list], absentGroup), true)
  })

  test('returns only grants that apply to the scope', async () => {
    const other = await platform.addOrganization('other')
    assert.deepEqual((await read(callerOf(viewer.identity), other.organization)).list, [])
    const { grants, row } = await readRow(callerOf(viewer.identity), other.organization)
    assert.deepEqual(grants.list, [])
    assert.notEqual(row, undefined)
  })

  test('does not return a grant after it was revoked', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'editor')
    assert.equal((await read(callerOf(identity))).list.length, 1)
    await platform.unbind(identity)
    assert.deepEqual((await read(callerOf(identity))).list, [])
  })

  test('does not return grants of an earlier call after they were revoked or have ended', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'owner')
    const caller = callerOf(identity)
    const limited: Caller = { ...caller, limits: { capabilities: ['groups.list'] } }
    const readAt = async (reader: Caller, time: number) =>
      platform.store.read(() => readGrants(reader, time, absentGroup))
    const countAt = async (time: number) => (await readAt(caller, time)).list.length
    await platform.store.write(() =>
      all(sql`update role_bindings set expire_time = ${now + 1000} where identity = ${identity}`),
    )
    for (let repetition = 0; repetition < 2; repetition++) {
      assert.deepEqual([await countAt(now), await countAt(now + 999)], [1, 1])
      assert.deepEqual([await countAt(now + 1000), await countAt(now + 2000)], [0, 0])
      assert.equal(holds(await readAt(limited, now), [create], absentGroup), false)
      assert.equal(holds(await readAt(caller, now), [create], absentGroup), true)
    }
    await platform.unbind(identity)
    assert.equal(await countAt(now), 0)
    await platform.deleteIdentity(identity)
    await assert.rejects(countAt(now), isUnauthenticated)
  })

  test('reads the bindings of each group and their expiry from an index alone', async () => {
    if (engine !== 'sqlite') return
    const caller = callerOf(viewer.identity)
    const query = renderedRow(groups.table, absentGroup, { kind: 'bytes' }, now)
    const reading = { caller, time: now, scope: absentGroup, query }
    const statement = grantsWithRow(reading, lineage(absentGroup))
    const steps = await platform.store.query(sql`explain query plan ${statement}`)
    const plan = steps.map((step) => String(step.at(-1))).join('\n')
    assert.match(plan, /b USING COVERING INDEX role_bindings_granting \(identity=\? AND parent=\?\)/)
  })

  test('rejects an identity that does not exist or was deleted', async () => {
    const { identity } = await platform.addIdentity(platform.owner.organization, 'editor')
    await platform.deleteIdentity(identity)
    for (const uid of [identity, '', `x' or '1'='1`, '\ud800']) {
      await assert.rejects(read(callerOf(uid)), isUnauthenticated)
      await assert.rejects(readRow(callerOf(uid), platform.owner.organization), isUnauthenticated)
    }
  })

  test('rejects a caller whose sign-in was ended, also for an identity that they have assumed', async () => {
    const { identity: person } = await platform.addIdentity('', 'viewer', platform.owner.organization)
    const nowInSeconds = Math.floor(Date.now() / 1000)
    const { organization } = platform.owner
    for (const identity of [person, viewer.identity]) {
      const callers = ['one', 'other'].map((id): Caller => {
        const signIn = { person, signedInAt: nowInSeconds, id: `${id} of ${identity}` }
        return { ...callerOf(identity), signIn }
      }) as [Caller, Caller]
      const [ended, other] = callers
      const readers = [
        (caller: Caller) => read(caller),
        (caller: Caller) => read(caller, organization),
        (caller: Caller) => read(caller, organization, true),
        async (caller: Caller) => (await readRow(caller, organization)).grants,
      ]
      for (const reader of readers) assert.equal((await reader(ended)).list.length, 1)
      await platform.store.write(() => endSignIn(ended.signIn?.id ?? '', Date.now()))
      for (const reader of readers) {
        await assert.rejects(reader(ended), isUnauthenticated)
        assert.equal((await reader(other)).list.length, 1)
      }
    }
    const laterSignIn = { person, signedInAt: nowInSeconds + 2, id: '' }
    await platform.store.write(() => signOutEverywhere(person, (nowInSeconds + 1) * 1000))
    for (const identity of [person, viewer.identity]) {
      const signIn = { person, signedInAt: nowInSeconds + 1, id: '' }
      await assert.rejects(read({ ...callerOf(identity), signIn }), isUnauthenticated)
      assert.equal((await read({ ...callerOf(identity), signIn: laterSignIn })).list.length, 1)
    }
    await platform.deleteIdentity(person)
    await assert.rejects(read({ ...callerOf(viewer.identity), signIn: laterSignIn }), isUnauthenticated)
  })

  test('rejects a token that was issued before the second in which its identity was created', async () => {
    const [row] = await platform.store.query(
      sql`select create_time from identities where uid = ${viewer.identity}`,
    )
    const createdAt = Math.floor((row?.[0] as number) / 1000)
    assert.equal((await read(callerOf(viewer.identity, createdAt))).list.length, 1)
    await assert.rejects(read(callerOf(viewer.identity, createdAt - 1)), isUnauthenticated)
    await assert.rejects(
      readRow(callerOf(viewer.identity, createdAt - 1), platform.owner.organization),
      isUnauthenticated,
    )
  })
})
