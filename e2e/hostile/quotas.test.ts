// Attempts to exceed the limits of a group (by racing, by batches, through other calls), and to learn the limits of
// groups that the caller may not see.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { newChildUid } from '@stemma/server/aip/uid.ts'
import type { App } from '@stemma/server/app.ts'
import { startApp } from '@stemma/server/app.ts'
import { openLog } from '@stemma/server/log.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { acceptInvite } from '@stemma/server/resources/iam/group-invites/accept.ts'
import { identities } from '@stemma/server/resources/iam/identities/table.ts'
import { grantDefaultRole } from '@stemma/server/resources/iam/people.ts'
import { checkTally } from '@stemma/server/store/check.ts'
import { sql } from '@stemma/server/store/sql.ts'
import { createMany } from '@stemma/server/testing/create-many.ts'
import type { CallResult, Door } from '@stemma/server/testing/doors.ts'
import { grpcDoor, restDoor } from '@stemma/server/testing/doors.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { signInAccess } from '../../server/policy/system-access.ts'
import { setLimits } from '../iam/operator-limits.ts'
import { addIdentityProvider } from '../sign-in/organizations.ts'

const { createGroup, getGroupUsage, setGroupLimits } = GroupsService.method
const { createRepo, deleteRepo } = ReposService.method
const { createRoleBinding, batchCreateRoleBindings } = RoleBindingsService.method

const viewer = builtInRole('viewer').uid
const clients = 32

onEachStore('callers who try to exceed a limit', (engine) => {
  let platform: Platform
  let secondCopy: App
  let doors: Door[]
  before(async () => {
    platform = await startPlatform(engine)
    secondCopy = await startApp(platform.config, openLog('silent'))
    const urls = [platform.url, `http://127.0.0.1:${secondCopy.port}`]
    doors = urls.flatMap((url) => [restDoor(url), grpcDoor(url)])
  })
  after(async () => {
    for (const door of doors) door.close()
    await secondCopy.stop(true)
    await platform.stop()
  })

  const doorOf = (client: number) => doors[client % doors.length] as Door // there are four
  /** Makes 32 calls at the same time, over both doors of two copies of the server. */
  const race = (method: DescMethod, requestOf: (client: number) => JsonObject, token: string) =>
    Promise.all(
      Array.from({ length: clients }, (_, client) => doorOf(client).call(method, requestOf(client), token)),
    )
  const succeeded = (results: CallResult[]) => results.filter(({ body }) => body).length
  const codesOf = (results: CallResult[]) => new Set(results.map(({ error }) => error?.code ?? 0))
  const count = async (table: 'repos' | 'role_bindings' | 'groups', below: string) => {
    const statements = {
      repos: sql`select count(*) from repos where uid > ${below} and uid < ${`${below}0`}`,
      role_bindings: sql`select count(*) from role_bindings where uid > ${below} and uid < ${`${below}0`}`,
      groups: sql`select count(*) from groups where uid > ${below} and uid < ${`${below}0`}`,
    }
    const [row] = await platform.store.query(statements[table])
    return row?.[0]
  }
  const newGroup = async ({ organization, token }: TestIdentity, parent = organization) => {
    const { body } = await doorOf(0).call(createGroup, { parent, group: { name: 'team' } }, token)
    return body?.uid as string
  }

  test('32 clients that create at the same time get exactly as many resources as the limit allows', async () => {
    const { organization, token } = await platform.addOrganization('race.example')
    await setLimits(platform.store, organization, { repos: 10 })
    const results = await race(
      createRepo,
      (client) => ({ parent: organization, repo: { name: `r${client}` } }),
      token,
    )
    assert.deepEqual(codesOf(results), new Set([0, 8]))
    assert.equal(succeeded(results), 10)
    assert.equal(await count('repos', organization), 10)
  })

  test('clients that create in different groups share the limit of the group above', async () => {
    const owner = await platform.addOrganization('shared.example')
    const parents = [await newGroup(owner), await newGroup(owner), await newGroup(owner)]
    await setLimits(platform.store, owner.organization, { groups: 3 + 7 })
    const results = await race(
      createGroup,
      (client) => ({ parent: parents[client % 3] ?? '', group: { name: 'inner' } }),
      owner.token,
    )
    assert.equal(succeeded(results), 7)
    assert.equal(await count('groups', owner.organization), 10)
  })

  test('a limit that is set while clients create resources applies at once', async () => {
    for (let round = 0; round < 3; round++) {
      const { organization, token } = await platform.addOrganization('late.example')
      const racing = race(
        createRepo,
        (client) => ({ parent: organization, repo: { name: `r${client}` } }),
        token,
      )
      await setLimits(platform.store, organization, { repos: 12 })
      const found = await count('repos', organization)
      await racing
      assert.ok(((await count('repos', organization)) as number) <= Math.max(12, found as number))
    }
  })

  test('concurrent batches that together exceed the limit are created whole or not at all', async () => {
    const owner = await platform.addOrganization('batch.example')
    const uids = Array.from({ length: clients * 2 }, () =>
      newChildUid(owner.organization, Date.now(), randomBytes),
    )
    await platform.store.write(() =>
      createMany(
        identities,
        uids.map((uid) => [create(IdentitySchema, { name: 'member' }), { uid, now: Date.now() }]),
      ),
    )
    const group = await newGroup(owner)
    await setLimits(platform.store, group, { role_bindings: 21 })
    const results = await race(
      batchCreateRoleBindings,
      (client) => ({
        parent: group,
        roleUid: viewer,
        requests: uids
          .slice(client * 2, client * 2 + 2)
          .map((identityUid) => ({ roleBinding: { identityUid } })),
      }),
      owner.token,
    )
    assert.equal(succeeded(results), 10)
    assert.equal(await count('role_bindings', group), 20)
  })

  test('deleting and creating in a loop never exceeds the limit, and each deletion makes room', async () => {
    const { organization, token } = await platform.addOrganization('loop.example')
    await setLimits(platform.store, organization, { repos: 4 })
    const loop = async (client: number) => {
      for (let round = 0; round < 4; round++) {
        const repo = { name: `r${client}-${round}` }
        const { body, error } = await doorOf(client).call(createRepo, { parent: organization, repo }, token)
        assert.ok(body || error.code === 8, error?.message)
        assert.ok(((await count('repos', organization)) as number) <= 4)
        if (body) await doorOf(client + 1).call(deleteRepo, { uid: body.uid as string }, token)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, client) => loop(client)))
    assert.equal(await count('repos', organization), 0)
    for (const name of ['a', 'b', 'c', 'd'])
      assert.ok((await doorOf(0).call(createRepo, { parent: organization, repo: { name } }, token)).body)
    assert.deepEqual(await checkTally(platform.store, ['repos', 'groups', 'role_bindings'], false), [])
  })

  test('a caller without access learns nothing of limits, not even that one is reached', async () => {
    const { organization } = await platform.addOrganization('secret.example')
    const stranger = await platform.addOrganization('stranger.example')
    await setLimits(platform.store, organization, { repos: 0 })
    for (const door of doors)
      for (const [method, request] of [
        [createRepo, { parent: organization, repo: { name: 'a' } }],
        [getGroupUsage, { uid: organization }],
        [setGroupLimits, { uid: organization, resourceLimits: { repos: 7 } }],
      ] as const) {
        const { error } = await door.call(method, request, stranger.token)
        assert.equal(error?.code, 7)
        assert.doesNotMatch(JSON.stringify(error), /QuotaFailure|limit/)
      }
  })

  test('a caller who may not see the group with the limit learns neither its uid nor its numbers', async () => {
    const owner = await platform.addOrganization('hidden.example')
    const group = await newGroup(owner)
    const member = await platform.addIdentity(group, 'owner')
    await setLimits(platform.store, owner.organization, { repos: 17, tags: 3 })
    await setLimits(platform.store, owner.organization, { repos: 0, tags: 3 })
    for (const door of doors) {
      const { error } = await door.call(createRepo, { parent: group, repo: { name: 'a' } }, member.token)
      assert.equal(error?.code, 8)
      assert.deepEqual(error.details.at(-1)?.violations, [
        {
          description:
            'a limit on the number of repos that applies here is reached; ask an owner of the organization',
          quotaMetric: 'repos',
        },
      ])
      const { body } = await door.call(getGroupUsage, { uid: group }, member.token)
      assert.doesNotMatch(JSON.stringify(body), /"limit|"available/)
    }
    const inner = await newGroup(owner, group)
    const tooHigh = { uid: inner, resourceLimits: { tags: 4 } }
    const { error } = await doorOf(0).call(setGroupLimits, tooHigh, member.token)
    assert.match(error?.message ?? '', /must not be higher than the limit of a group above/)
  })

  test('invites and sign-ins cannot exceed the limit of role bindings, and a sign-in still succeeds', async () => {
    const owner = await platform.addOrganization('join.example')
    const provider = await addIdentityProvider(platform, owner, { issuer: 'https://idp.example.com' })
    const { body: invite } = await doorOf(0).call(
      GroupInvitesService.method.createGroupInvite,
      { parent: owner.organization, groupInvite: { roleUid: viewer, ttl: '600s' } },
      owner.token,
    )
    await setLimits(platform.store, owner.organization, { role_bindings: 1 })
    const person = await platform.addUser('guest@join.example')
    const context = { access: signInAccess(new Map()), now: Date.now, random: randomBytes }
    const guest = { identity: person.identity, email: undefined }
    const signIn = () => platform.store.write(() => grantDefaultRole(context, provider, person.identity))
    await assert.rejects(
      platform.store.write(() => acceptInvite(context, invite?.code as string, guest)),
      /^StatusError: Resource exhausted: a limit on the number of role bindings/,
    )
    await signIn()
    assert.equal(await count('role_bindings', owner.organization), 1)
    await setLimits(platform.store, owner.organization, { role_bindings: 2 })
    await signIn()
    assert.equal(await count('role_bindings', owner.organization), 2)
    const { error: full } = await doorOf(1).call(
      createRoleBinding,
      { parent: owner.organization, roleBinding: { identityUid: owner.identity, roleUid: viewer } },
      owner.token,
    )
    assert.equal(full?.code, 8)
  })
})
