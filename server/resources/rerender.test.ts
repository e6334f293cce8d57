import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../policy/built-in-roles.ts'
import { prepareStore, talliedKinds } from '../storage.ts'
import { raw, sql } from '../store/sql.ts'
import { grpcDoor, restDoor } from '../testing/doors.ts'
import type { Platform } from '../testing/platform.ts'
import { startPlatform } from '../testing/platform.ts'
import { onEachStore } from '../testing/stores.ts'

const { listRoleBindings, getRoleBinding } = RoleBindingsService.method
const { createIdentityProvider } = IdentityProvidersService.method
const { createGroupInvite } = GroupInvitesService.method
const { getGroup, listGroups } = GroupsService.method

onEachStore('rows with JSON of another shape', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
    const { organization } = platform.owner
    for (let at = 0; at < 60; at++) await platform.addIdentity(organization, 'viewer')
    const oidc = { issuer: 'https://sso.test', clientId: 'x', clientSecret: 'hush' }
    const provider = { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc }
    const invite = { roleUid: builtInRole('viewer').uid, ttl: '3600s' }
    const door = restDoor(platform.url)
    await door.call(
      createIdentityProvider,
      { parent: organization, identityProvider: provider },
      platform.owner.token,
    )
    await door.call(createGroupInvite, { parent: organization, groupInvite: invite }, platform.owner.token)
  })
  after(() => platform.stop())

  /** Asserts that both doors return the same replies, and returns them. */
  async function readAll() {
    const { token, organization } = platform.owner
    const doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const replies = []
    for (const door of doors) {
      const bindings = await door.call(listRoleBindings, { pageSize: 200 }, token)
      const [first] = (bindings.body?.roleBindings ?? []) as { uid: string }[]
      const binding = await door.call(getRoleBinding, { uid: first?.uid ?? '' }, token)
      const group = await door.call(getGroup, { uid: organization }, token)
      replies.push({ bindings, binding, group, groups: await door.call(listGroups, {}, token) })
      door.close()
    }
    assert.deepEqual(replies[1], replies[0])
    return replies[0]
  }

  /** The kinds whose rows also contain the JSON that role bindings show of them. */
  const shownInBindings = ['identities', 'groups', 'roles']

  /** Gives all rows of these kinds another shape, and JSON that must not be returned. */
  const makeStale = async (shape: string, kinds: readonly string[]) => {
    await platform.store.write(function* () {
      for (const kind of kinds) {
        yield sql`update ${raw(kind)} set shape = ${shape}, json = '{"name":"stale"}'`
        if (shownInBindings.includes(kind)) yield sql`update ${raw(kind)} set binding_json = '"stale":true'`
      }
    })
  }

  test('are rendered when they are read', async () => {
    const fresh = await readAll()
    for (const kind of [...shownInBindings, 'role_bindings']) {
      await makeStale('another shape', [kind])
      assert.deepEqual(await readAll(), fresh, kind)
    }
  })

  test('with an empty shape are rendered and stored at the next start, with their computed columns', async () => {
    const fresh = await readAll()
    const secrets = sql`select client_secret, digest from identity_providers, group_invites`
    const before = await platform.store.query(secrets)
    assert.equal(before.length, 1)
    await makeStale('', talliedKinds)
    await platform.store.write(function* () {
      for (const kind of shownInBindings) yield sql`update ${raw(kind)} set binding_bytes = null`
    })
    await prepareStore(platform.config, platform.store)
    for (const kind of talliedKinds) {
      const staleRows = await platform.store.query(sql`select uid from ${raw(kind)} where shape = ''`)
      assert.deepEqual(staleRows, [], kind)
    }
    assert.deepEqual(await readAll(), fresh)
    assert.deepEqual(await platform.store.query(secrets), before, 'extra columns keep their values')
  })
})
