// Role bindings that expire (docs/specification.md, Roles and bindings). The clock of the server is passed in.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  RoleBindingSchema,
  RoleBindingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { recordedEvents } from '@stemma/server/testing/sealed-events.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { scheduleBindingExpiry } from '../../server/binding-expiry.ts'
import { openLog } from '../../server/log.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess, signInAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { bindRole } from '../../server/resources/iam/binding.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { checkTally } from '../../server/store/check.ts'
import type { Store } from '../../server/store/db.ts'
import { sql } from '../../server/store/sql.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { setLimits } from './operator-limits.ts'

const { createGroup, getGroup, deleteGroup, getGroupUsage } = GroupsService.method
const { createIdentity, updateIdentity, deleteIdentity } = IdentitiesService.method
const { createRole, deleteRole } = RolesService.method
const bindings = RoleBindingsService.method

const minuteMs = 60_000
let clockOffset = 0
const now = () => Date.now() + clockOffset
const roleOf = (name: string) => builtInRole(name).uid
const inMinutes = (minutes: number) => new Date(now() + minutes * minuteMs).toISOString()
const pass = (minutes: number) => {
  clockOffset += minutes * minuteMs
}

const makeGroup = ({ owner, ...stage }: ExampleContext, name = 'team', parent = owner.organization) =>
  make({ owner, ...stage }, createGroup, { parent, group: { name } })

async function bind(
  { succeed }: ExampleContext,
  parent: string,
  identityUid: string,
  { role = 'viewer', ...fields }: JsonObject & { role?: string } = {},
): Promise<string> {
  const roleBinding = { identityUid, roleUid: roleOf(role), ...fields }
  return (await succeed(bindings.createRoleBinding, { parent, roleBinding })).uid as string
}

const codeOf = async (stage: ExampleContext, method: DescMethod, request: JsonObject, token?: string) =>
  (await stage.call(method, request, token)).error?.code ?? 0

/**
 * Lists role bindings. Does not use `succeed`, which compares the responses of both doors:
 * `insertBindings` creates random uids, so the order of its bindings differs between the doors.
 */
const listed = async ({ door, owner }: ExampleContext, request: JsonObject, token = owner.token) => {
  const { body, error } = await door.call(bindings.listRoleBindings, request, token)
  assert.ok(body, error?.message)
  const rows = body.roleBindings as { uid: string }[]
  return { uids: rows.map(({ uid }) => uid), total: Number(body.totalCount) }
}

/** The role bindings in a group that the owner may see, by a search of AuthZEN. */
async function searched({ platform, owner }: ExampleContext, group: string): Promise<string[]> {
  const response = await fetch(`${platform.url}/access/v1/search/resource`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      subject: { type: 'identity', id: owner.identity },
      action: { name: 'role_bindings.list' },
      resource: { type: 'role_binding' },
    }),
  })
  const { results } = (await response.json()) as { results: { id: string }[] }
  return results.map(({ id }) => id).filter((uid) => uid.startsWith(`${group}/`))
}

examples(
  'expiring role bindings',
  {
    async 'show their expiry and reason, and grant nothing once expired, even to tokens issued earlier'(
      stage,
    ) {
      const { platform, owner, succeed } = stage
      const group = await makeGroup(stage)
      const robot = await platform.addIdentity(owner.organization)
      const [expireTime, reason] = [inMinutes(8), 'incident 4711']
      const uid = await bind(stage, group, robot.identity, { expireTime, reason })
      const binding = await succeed(bindings.getRoleBinding, { uid })
      assert.deepEqual([binding.expireTime, binding.reason], [expireTime, reason])
      const request = { uid: group }
      const hasRole = async () => (await codeOf(stage, getGroup, request, robot.token)) === 0
      const validatedCapabilities = async () =>
        ((await succeed(Auth.method.validate, {}, robot.token)).capabilities as unknown[] | undefined) ?? []
      const question = { identity: robot.identity, capability: 'groups.list', resource: group }
      const check = () => succeed(AccessService.method.checkAccess, question)
      assert.deepEqual([await hasRole(), (await validatedCapabilities()).length], [true, 1])
      assert.deepEqual(await check(), { allowed: true, expireTime })
      pass(7)
      assert.equal(await hasRole(), true)
      pass(1)
      assert.equal(await hasRole(), false)
      assert.deepEqual(await check(), { allowed: false })
      const error = await stage.fail(getGroup, request, robot.token)
      assert.match(error.message, /groups\.list denied/)
      assert.deepEqual(await validatedCapabilities(), [])
      // A list reads the grants in all groups, and not only those for one resource.
      assert.equal((await listed(stage, {}, robot.token)).total, 0)
    },

    async 'do not exist for any call once they have expired'(stage) {
      const { succeed, fail } = stage
      const group = await makeGroup(stage)
      const identity = (await stage.platform.addIdentity(stage.owner.organization)).identity
      const uid = await bind(stage, group, identity, { expireTime: inMinutes(5) })
      const kept = await bind(stage, group, identity, { role: 'editor', expireTime: inMinutes(50) })
      pass(5)
      assert.equal((await fail(bindings.getRoleBinding, { uid })).code, 5)
      const roleBinding = { uid, expireTime: inMinutes(60) }
      assert.equal((await fail(bindings.updateRoleBinding, { roleBinding })).code, 5)
      assert.deepEqual(await listed(stage, { group }), { uids: [kept], total: 1 })
      assert.deepEqual(await listed(stage, { identity }), { uids: [kept], total: 1 })
      assert.deepEqual(await searched(stage, group), [kept])
      const v1 = await succeed(RoleBindings.method.list, { uidp: { descendantsOf: group } })
      assert.deepEqual(
        (v1.items as JsonObject[]).map(({ id }) => id),
        [kept],
      )
      await succeed(bindings.deleteRoleBinding, { uid })
    },

    async 'block nothing once they have expired'(stage) {
      const { platform, owner, succeed, fail } = stage
      const group = await makeGroup(stage)
      const identity = await make(stage, createIdentity, {
        parent: group,
        identity: { name: 'robot', claimMatch: { issuer: 'https://issuer.test', subject: 'robot' } },
      })
      const roleUid = await make(stage, createRole, {
        parent: group,
        role: { name: 'own', capabilities: ['CAP_IAM_GROUPS_LIST'] },
      })
      await setLimits(platform.store, group, { role_bindings: 2 })
      const expireTime = inMinutes(5)
      const first = await bind(stage, group, identity, { expireTime })
      await bind(stage, group, identity, { roleUid, expireTime })
      const again = { identityUid: identity, roleUid: roleOf('viewer') }
      assert.equal((await fail(bindings.createRoleBinding, { parent: group, roleBinding: again })).code, 8)
      assert.equal((await fail(deleteRole, { uid: roleUid })).code, 9)
      const usage = async () => {
        const { kinds } = (await succeed(getGroupUsage, { uid: group })) as { kinds: JsonObject[] }
        const { used, available } = kinds.find(({ kind }) => kind === 'role_bindings') ?? {}
        return [used, available]
      }
      assert.deepEqual(await usage(), ['2', '0'])
      pass(5)
      assert.deepEqual(await usage(), ['0', '2'])
      const second = await bind(stage, group, identity)
      assert.notEqual(second, first)
      const requests = ['editor', 'owner'].map((role) => ({
        roleBinding: { identityUid: identity, roleUid: roleOf(role), expireTime: inMinutes(5) },
      }))
      const batch = { parent: group, requests: requests.slice(0, 1) }
      await succeed(bindings.batchCreateRoleBindings, batch)
      pass(5)
      await succeed(bindings.batchCreateRoleBindings, {
        parent: group,
        requests: [{ roleBinding: { ...requests[0]?.roleBinding, expireTime: inMinutes(5) } }],
      })
      pass(5)
      await succeed(bindings.deleteRoleBinding, { uid: second })
      await succeed(deleteRole, { uid: roleUid })
      await succeed(deleteIdentity, { uid: identity })
      const other = (await platform.addIdentity(owner.organization)).identity
      await bind(stage, group, other, { expireTime: inMinutes(5) })
      assert.equal((await fail(deleteGroup, { uid: group })).code, 9)
      pass(5)
      await succeed(deleteGroup, { uid: group })
    },

    async 'need an expiry in the future'(stage) {
      const { succeed, fail } = stage
      const group = await makeGroup(stage)
      const identityUid = (await stage.platform.addIdentity(stage.owner.organization)).identity
      const expired = { identityUid, roleUid: roleOf('viewer'), expireTime: inMinutes(-1) }
      const refused = await fail(bindings.createRoleBinding, { parent: group, roleBinding: expired })
      assert.deepEqual(violations(refused), ['expireTime'])
      const requests = [{ roleBinding: expired }]
      assert.deepEqual(
        violations(await fail(bindings.batchCreateRoleBindings, { parent: group, requests })),
        ['requests[0].roleBinding.expireTime'],
      )
      const uid = await bind(stage, group, identityUid, { expireTime: inMinutes(5), reason: 'incident' })
      const shorten = { roleBinding: { uid, expireTime: inMinutes(-1) } }
      assert.deepEqual(violations(await fail(bindings.updateRoleBinding, shorten)), ['expireTime'])
      const later = inMinutes(10)
      const extended = await succeed(bindings.updateRoleBinding, { roleBinding: { uid, expireTime: later } })
      assert.deepEqual([extended.expireTime, extended.reason], [later, 'incident'])
      await succeed(RoleBindings.method.update, { id: uid, identity: identityUid, role: roleOf('editor') })
      const { expireTime, reason } = await succeed(bindings.getRoleBinding, { uid })
      assert.deepEqual([expireTime, reason], [later, 'incident'], 'v1 has no such fields')
      const updateMask = 'expireTime,reason'
      const cleared = await succeed(bindings.updateRoleBinding, { roleBinding: { uid }, updateMask })
      assert.deepEqual([cleared.expireTime, cleared.reason], [undefined, undefined])
      pass(30)
      assert.deepEqual((await listed(stage, { group })).uids, [uid])
    },

    async 'get another expiry only from callers who could create them'(stage) {
      const { platform, owner, fail } = stage
      const group = await makeGroup(stage)
      const robot = await platform.addIdentity(owner.organization)
      const uid = await bind(stage, group, robot.identity, { role: 'editor', expireTime: inMinutes(5) })
      const clerk = await platform.addIdentityWith(group, ['CAP_IAM_ROLE_BINDINGS_UPDATE'])
      const changes: JsonObject[] = [
        { roleBinding: { uid, expireTime: inMinutes(500) } },
        { roleBinding: { uid, expireTime: inMinutes(1) } },
        { roleBinding: { uid }, updateMask: 'expireTime' },
      ]
      for (const change of changes)
        assert.equal(
          await codeOf(stage, bindings.updateRoleBinding, change, clerk.token),
          7,
          JSON.stringify(change),
        )
      const noted = { roleBinding: { uid, reason: 'reviewed' } }
      await stage.succeed(bindings.updateRoleBinding, noted, clerk.token)
      pass(5)
      assert.deepEqual(await listed(stage, { identity: robot.identity }), { uids: [], total: 0 })
      // The robot cannot extend its own role after it has expired.
      const own = { roleBinding: { uid, expireTime: inMinutes(5) } }
      assert.equal((await fail(bindings.updateRoleBinding, own, robot.token)).code, 7)
    },

    async 'once expired, neither protect their identity from changes nor let an owner bind a person'(stage) {
      const { platform, owner, succeed, fail } = stage
      const group = await makeGroup(stage)
      const claimMatch = { issuer: 'https://issuer.test', subject: 'robot' }
      const uid = await make(stage, createIdentity, {
        parent: group,
        identity: { name: 'robot', claimMatch },
      })
      await bind(stage, group, uid, { role: 'owner', expireTime: inMinutes(5) })
      const clerk = await platform.addIdentityWith(group, ['CAP_IAM_IDENTITY_UPDATE'])
      const change = { identity: { uid, claimMatch: { subject: 'other' } } }
      assert.equal((await fail(updateIdentity, change, clerk.token)).code, 7)
      const person = await platform.addUser('ada@example.com')
      const time = now()
      const entry = {
        uid: newChildUid(group, time, randomBytes),
        now: time,
        columns: { identity: person.identity, role: roleOf('viewer') },
      }
      const draft = create(RoleBindingSchema, { expireTime: timestampFromMs(time + 5 * minuteMs) })
      await platform.store.write(() => createEntry(operatorAccess, roleBindings, draft, entry))
      await bind(stage, owner.organization, person.identity, { expireTime: inMinutes(5) })
      pass(5)
      await succeed(updateIdentity, change, clerk.token)
      const roleBinding = { identityUid: person.identity, roleUid: roleOf('viewer') }
      const refused = await fail(bindings.createRoleBinding, { parent: group, roleBinding })
      assert.deepEqual(violations(refused), ['identityUid'])
    },

    async 'lose their expiry when the identity gets the role by an invite or a sign-in'(stage) {
      const { platform } = stage
      const group = await makeGroup(stage)
      const { identity } = await platform.addIdentity(stage.owner.organization)
      const uid = await bind(stage, group, identity, { expireTime: inMinutes(5), reason: 'trial' })
      const context = { access: signInAccess(new Map()), now, random: randomBytes }
      await platform.store.write(() => bindRole(context, identity, roleOf('viewer'), group))
      pass(30)
      const binding = await stage.succeed(bindings.getRoleBinding, { uid })
      assert.deepEqual([binding.expireTime, binding.reason], [undefined, 'trial'])
      const other = await bind(stage, group, identity, { role: 'editor', expireTime: inMinutes(5) })
      pass(5)
      await platform.store.write(() => bindRole(context, identity, roleOf('editor'), group))
      const { uids } = await listed(stage, { group, orderBy: 'create_time' })
      assert.deepEqual([uids.length, uids[0], uids.includes(other)], [2, uid, false])
    },

    async 'are deleted later in small steps, by one copy, and the tally stays exact'(stage) {
      const { platform, owner } = stage
      const { store } = platform
      const group = await makeGroup(stage)
      const start = now()
      const expiries = Array.from({ length: 210 }, (_, at) => start + (at < 5 ? 60 : 5) * minuteMs)
      await insertBindings(stage, group, expiries)
      const count = async () => {
        const rows = await store.query(sql`select count(*) from role_bindings where parent = ${group}`)
        return rows[0]?.[0]
      }
      const writes = [0, 0]
      const copies = writes.map((_, copy) => {
        const write: Store['write'] = (work, deadline) => {
          writes[copy] = (writes[copy] ?? 0) + 1
          return store.write(work, deadline)
        }
        return scheduleBindingExpiry({ ...store, write }, openLog('silent'), now)
      })
      await Promise.all(copies.map((copy) => copy.run()))
      assert.equal(await count(), 210)
      writes.fill(0)
      pass(5)
      assert.equal((await listed(stage, { group })).total, 5)
      await Promise.all(copies.map((copy) => copy.run()))
      assert.equal(await count(), 5)
      const [fewest = 0, most] = writes.toSorted()
      assert.equal(most, 3, 'one copy claims the task and deletes 205 bindings, at most 200 in a transaction')
      assert.ok(fewest <= 1, 'the other one at most tries to claim the task')
      assert.equal((await listed(stage, { group })).total, 5)
      assert.deepEqual(await checkTally(store, ['role_bindings'], false), [])
      const deletions = await store.query(sql`select distinct method, actor from ${recordedEvents}
        where group_uid = ${group} and action = 'deleted'`)
      assert.deepEqual(deletions, [['expiry', '']])
      await Promise.all(copies.map((copy) => copy.stop()))
      assert.equal((await listed(stage, { group: owner.organization })).total, 1)
    },

    async 'are left out of every kind of list and total once they have expired'(stage) {
      const { platform, owner } = stage
      const outer = await makeGroup(stage, 'outer')
      const inner = await makeGroup(stage, 'inner', outer)
      const start = now()
      const rows: { uid: string; expiry: number }[] = []
      for (const [at, group] of [owner.organization, outer, inner].entries()) {
        const expiries = Array.from({ length: 14 }, (_, n) => start + (10 + ((n * 7 + at) % 12)) * minuteMs)
        rows.push(...(await insertBindings(stage, group, expiries)))
      }
      const viewer = await platform.addIdentity(owner.organization, 'viewer', outer)
      await platform.bind(viewer.identity, 'viewer', await makeGroup(stage, 'other'))
      const permanent = (await listed(stage, { pageSize: 200 })).uids.filter(
        (uid) => !rows.some((row) => row.uid === uid),
      )
      const isBelow = (uid: string, group: string) => uid.startsWith(`${group}/`)
      const isChild = (uid: string, group: string) => uid.slice(0, -17) === group
      const visible = (uid: string) => isBelow(uid, outer) || permanent.includes(uid)
      for (const minutes of [0, 12, 5, 6]) {
        pass(minutes)
        const live = [...permanent, ...rows.filter(({ expiry }) => expiry > now()).map(({ uid }) => uid)]
        const expected = (test: (uid: string) => boolean) => live.filter(test).sort()
        const check = async (request: JsonObject, uids: string[], token?: string) => {
          const page = await listed(stage, { pageSize: 200, ...request }, token)
          assert.deepEqual(page, { uids: request.orderBy ? page.uids : uids, total: uids.length })
          assert.deepEqual(page.uids.toSorted(), uids)
          if (uids.length < 4) return
          const skipped = await listed(stage, { ...request, skip: 3, pageSize: 2 }, token)
          const order = request.orderBy ? page.uids : uids
          assert.deepEqual(skipped, { uids: order.slice(3, 5), total: uids.length })
        }
        for (const orderBy of ['', 'create_time desc']) {
          await check(
            { orderBy },
            expected(() => true),
          )
          await check(
            { orderBy, group: outer },
            expected((uid) => isChild(uid, outer)),
          )
          await check(
            { orderBy, uidp: { descendantsOf: outer } },
            expected((uid) => isBelow(uid, outer)),
          )
          await check(
            { orderBy, role: roleOf('editor'), group: inner },
            expected((uid) => isChild(uid, inner)),
          )
        }
        const ids = rows.map(({ uid }) => uid)
        await check(
          { uidp: { ids } },
          expected((uid) => ids.includes(uid)),
        )
        const seen = await listed(stage, { pageSize: 200 }, viewer.token)
        assert.equal(seen.uids.length, seen.total, 'several regions')
        assert.ok(seen.uids.every((uid) => live.includes(uid) && visible(uid)))
        assert.equal(
          seen.uids.filter((uid) => isBelow(uid, outer)).length,
          expected((uid) => isBelow(uid, outer)).length,
        )
      }
    },
  },
  now,
)

/** Creates bindings of new identities with these expiries, directly in the store. */
const insertBindings = (
  { platform, owner }: ExampleContext,
  group: string,
  expiries: readonly number[],
): Promise<{ uid: string; expiry: number }[]> =>
  platform.store.write(function* () {
    const time = now()
    const made = expiries.map((expiry) => ({
      ...{ expiry, uid: newChildUid(group, time, randomBytes) },
      identity: newChildUid(owner.organization, time, randomBytes),
    }))
    yield* createMany(
      identities,
      made.map(({ identity }) => [create(IdentitySchema, { name: 'robot' }), { uid: identity, now: time }]),
    )
    yield* createMany(
      roleBindings,
      made.map(({ uid, identity, expiry }) => [
        create(RoleBindingSchema, { expireTime: timestampFromMs(expiry) }),
        { uid, now: time, columns: { identity, role: roleOf('editor') } },
      ]),
    )
    return made
  })
