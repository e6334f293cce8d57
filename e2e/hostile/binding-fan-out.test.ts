// Attacks by fan-out: each call of a list method reads all grants of its caller, so the calls of an identity with very
// many role bindings could slow down the server for everybody.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  RoleBindingSchema,
  RoleBindingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid } from '@stemma/server/aip/uid.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole, builtInRoles } from '@stemma/server/policy/built-in-roles.ts'
import { bindRole } from '@stemma/server/resources/iam/binding.ts'
import { groups } from '@stemma/server/resources/iam/groups/table.ts'
import { grantDefaultRole } from '@stemma/server/resources/iam/people.ts'
import { roleBindings } from '@stemma/server/resources/iam/role-bindings/table.ts'
import { sql } from '@stemma/server/store/sql.ts'
import { createMany } from '@stemma/server/testing/create-many.ts'
import type { Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { addIdentityProvider } from '../sign-in/organizations.ts'

const { createRoleBinding, updateRoleBinding, batchCreateRoleBindings, deleteRoleBinding } =
  RoleBindingsService.method
const { createGroup, requestGroupAccess, listGroups } = GroupsService.method
const { createGroupInvite } = GroupInvitesService.method
const { approveGroupAccessRequest, listGroupAccessRequests } = GroupAccessRequestsService.method

const maxBindings = 1000
const viewer = builtInRole('viewer').uid
const owner = builtInRole('owner').uid

onEachStore('an identity with as many role bindings as allowed', (engine) => {
  let platform: Platform
  let doors: Door[]
  let admin: TestIdentity
  let person: TestIdentity
  /** A group in which the person has every built-in role. */
  let groupWithAllRoles: string
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    admin = await platform.addOrganization('fan.example')
    await verifyOrganization(platform.store, admin.organization, { isVerified: true, now: Date.now() })
    person = await platform.addUser('ada@fan.example')
    groupWithAllRoles = await fillUp(person.identity)
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  /** Binds an identity to every built-in role in each of 125 new groups: 1000 bindings. Returns the last group. */
  async function fillUp(identity: string): Promise<string> {
    const now = Date.now()
    const newUid = (parent: string) => newChildUid(parent, now, randomBytes)
    const uids = Array.from({ length: maxBindings / builtInRoles.length }, () => newUid(admin.organization))
    const bindings = uids.flatMap((group) =>
      builtInRoles.map(({ uid: role }) => {
        const entry = { uid: newUid(group), now, columns: { identity, role } }
        return [create(RoleBindingSchema), entry] as const
      }),
    )
    await platform.store.write(function* () {
      yield* createMany(
        groups,
        uids.map((uid) => [create(GroupSchema, { name: 'team' }), { uid, now }]),
      )
      yield* createMany(roleBindings, bindings)
    })
    return uids.at(-1) ?? ''
  }

  const bindingCountOf = async (identity: string) => {
    const [row] = await platform.store.query(
      sql`select count(*) from role_bindings where identity = ${identity}`,
    )
    return row?.[0]
  }

  async function assertRefused(method: DescMethod, request: JsonObject, token = admin.token): Promise<void> {
    for (const door of doors) {
      const { error } = await door.call(method, request, token)
      assert.equal(error?.code, 9, `${method.name}: ${error?.message}`)
      assert.match(error?.message ?? '', /at most 1000 role bindings/)
      assert.equal(await bindingCountOf(person.identity), maxBindings)
    }
  }

  async function succeed(method: DescMethod, request: JsonObject, token = admin.token): Promise<JsonObject> {
    const { body, error } = await (doors[0] as Door).call(method, request, token)
    assert.ok(body, error?.message)
    return body
  }

  test('gets no further binding by a call that creates or changes a binding', async () => {
    const parent = admin.organization
    const roleBinding = { identityUid: person.identity, roleUid: viewer }
    await assertRefused(createRoleBinding, { parent, roleBinding })
    await assertRefused(batchCreateRoleBindings, { parent, requests: [{ roleBinding }] })
    await assertRefused(RoleBindings.method.create, {
      parent,
      roleBinding: { identity: person.identity, role: viewer },
    })
    const other = await platform.addIdentity(parent)
    const { uid } = await succeed(createRoleBinding, {
      parent,
      roleBinding: { identityUid: other.identity, roleUid: viewer },
    })
    await assertRefused(updateRoleBinding, {
      roleBinding: { uid: uid as string, identityUid: person.identity },
    })
  })

  test('gets no further binding by creating an organization', async () => {
    await assertRefused(createGroup, { group: { name: 'mine' } }, person.token)
  })

  test('gets no further binding by an invite, which stays usable', async () => {
    const groupInvite = { roleUid: viewer, ttl: '600s', singleUse: true }
    const { code } = await succeed(createGroupInvite, { parent: admin.organization, groupInvite })
    await assertRefused(Auth.method.register, { code: code as string }, person.token)
    const guest = await platform.addUser('bob@fan.example')
    await succeed(Auth.method.register, { code: code as string }, guest.token)
  })

  test('gets no further binding by an access request', async () => {
    await succeed(requestGroupAccess, { groupUid: admin.organization }, person.token)
    const { groupAccessRequests } = await succeed(listGroupAccessRequests, {})
    const [request] = groupAccessRequests as JsonObject[]
    await assertRefused(approveGroupAccessRequest, { uid: request?.uid as string, roleUid: viewer })
  })

  test('can sign in through a provider, whose default role it gets only when there is room', async () => {
    const oidc = { issuer: 'https://login.fan.example', clientId: 'stemma', clientSecret: 'secret' }
    const provider = await addIdentityProvider(platform, admin, oidc)
    const context = { access: operatorAccess, now: Date.now, random: randomBytes }
    const signIn = () => platform.store.write(() => grantDefaultRole(context, provider, person.identity))
    const rolesInGroup = () =>
      platform.store.query(sql`select uid, role from role_bindings
        where identity = ${person.identity} and parent = ${admin.organization}`)
    await signIn()
    assert.deepEqual(await rolesInGroup(), [])
    // The person gives up a role that somebody else has given them.
    const [given] = await platform.store.query(sql`select uid, parent, role from role_bindings
      where identity = ${person.identity} and parent <> ${groupWithAllRoles} limit 1`)
    const [uid, parent, role] = given as [string, string, string]
    await succeed(deleteRoleBinding, { uid }, person.token)
    await signIn()
    const [[granted] = []] = await rolesInGroup()
    assert.ok(granted)
    await succeed(deleteRoleBinding, { uid: granted as string })
    await platform.store.write(() => bindRole(context, person.identity, role, parent))
    assert.equal(await bindingCountOf(person.identity), maxBindings)
  })

  test('can change its roles, and can get a new binding after one was deleted', async () => {
    const [binding] = await platform.store.query(sql`select uid from role_bindings
      where identity = ${person.identity} and parent = ${groupWithAllRoles} and role = ${owner}`)
    const uid = binding?.[0] as string
    await succeed(deleteRoleBinding, { uid })
    const group = await succeed(createGroup, { parent: groupWithAllRoles, group: { name: 'below' } })
    const roleBinding = { identityUid: person.identity, roleUid: viewer }
    const made = await succeed(createRoleBinding, { parent: group.uid as string, roleBinding })
    await succeed(updateRoleBinding, { roleBinding: { uid: made.uid as string, roleUid: owner } })
    assert.equal(await bindingCountOf(person.identity), maxBindings)
  })

  test('gets no more bindings than allowed, even by concurrent calls', async () => {
    const [binding] = await platform.store.query(
      sql`select uid from role_bindings where identity = ${person.identity} and parent = ${groupWithAllRoles} limit 1`,
    )
    await succeed(deleteRoleBinding, { uid: binding?.[0] as string })
    const roleBinding = { identityUid: person.identity, roleUid: viewer }
    const parents = await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const made = await succeed(createGroup, {
          parent: admin.organization,
          group: { name: `race ${at}` },
        })
        return made.uid as string
      }),
    )
    const answers = await Promise.all(
      parents.map((parent, at) =>
        (doors[at % 2] as Door).call(createRoleBinding, { parent, roleBinding }, admin.token),
      ),
    )
    assert.equal(answers.filter(({ body }) => body).length, 1)
    assert.equal(await bindingCountOf(person.identity), maxBindings)
  })

  test('still lists everything that it may see, in every order', async () => {
    const visibleGroups = 126 // 125 groups, and one below them
    for (const orderBy of ['', 'name', 'create_time desc']) {
      const uids = new Set<unknown>()
      let pageToken = ''
      do {
        const page = await succeed(listGroups, { orderBy, pageSize: 50, pageToken }, person.token)
        assert.ok(Number(page.totalCount) >= visibleGroups)
        for (const { uid } of page.groups as JsonObject[]) uids.add(uid)
        pageToken = (page.nextPageToken ?? '') as string
        if (pageToken === '') assert.equal(uids.size, Number(page.totalCount))
      } while (pageToken !== '')
    }
  })
})
