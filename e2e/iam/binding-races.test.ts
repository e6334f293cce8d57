// Role bindings that are created or deleted while another call deletes or uses them. Only on PostgreSQL: SQLite runs
// one write after another.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { PullTokensService } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess, signInAccess } from '../../server/policy/system-access.ts'
import { bindRole } from '../../server/resources/iam/binding.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { removeWhere } from '../../server/resources/remove-where.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { untilAnotherWaits } from '../../server/testing/lock-waits.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const viewer = builtInRole('viewer').uid

onEachStore('concurrent changes of role bindings', (engine) => {
  const skip = engine === 'sqlite' && 'SQLite runs one write after another'
  let platform: Platform
  let door: Door
  before(async () => {
    platform = await sharedPlatform(engine)
    door = restDoor(platform.url)
  })
  after(async () => {
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    await platform.stop()
  })

  const context = { access: signInAccess(new Map()), now: Date.now, random: randomBytes }
  const unbind = (identity: string) => removeWhere(operatorAccess, roleBindings, sql`identity = ${identity}`)
  const countOf = async (table: string, condition: string) =>
    (await platform.store.query(raw(`select count(*) from ${table} where ${condition}`)))[0]?.[0]

  /** Runs `change` in a transaction that ends as soon as `call` waits for it. Returns the result of `call`. */
  async function duringChange<T>(change: () => Work<void>, call: () => Promise<T>): Promise<T> {
    const changed = Promise.withResolvers<void>()
    const transaction = platform.store.write(function* () {
      yield* change()
      changed.resolve()
      yield raw(untilAnotherWaits)
    })
    await changed.promise
    const [result] = await Promise.all([call(), transaction])
    return result
  }

  const newPullToken = async () => {
    const request = { parent: platform.owner.organization, pullToken: { name: 'ci' } }
    const { body } = await door.call(PullTokensService.method.createPullToken, request, platform.owner.token)
    return body?.uid as string
  }
  const deletePullToken = async (uid: string) =>
    (await door.call(PullTokensService.method.deletePullToken, { uid }, platform.owner.token)).error

  test('a pull token can be deleted while one of its bindings is deleted', { skip }, async () => {
    const uid = await newPullToken()
    const error = await duringChange(
      () => unbind(uid),
      () => deletePullToken(uid),
    )
    assert.equal(error, undefined)
    assert.equal(await countOf('identities', `uid = '${uid}'`), 0)
  })

  test('a pull token can be deleted while it is bound to another role', { skip }, async () => {
    const uid = await newPullToken()
    const error = await duringChange(
      () => bindRole(context, uid, viewer, platform.owner.organization),
      () => deletePullToken(uid),
    )
    assert.equal(error, undefined)
    assert.equal(await countOf('role_bindings', `identity = '${uid}'`), 0)
  })

  test('an identity can be deleted while its binding in another organization is deleted', {
    skip,
  }, async () => {
    const { organization } = await platform.addOrganization('other')
    const { identity } = await platform.addIdentity(platform.owner.organization, 'viewer', organization)
    const { error } = await duringChange(
      () => unbind(identity),
      () => door.call(IdentitiesService.method.deleteIdentity, { uid: identity }, platform.owner.token),
    )
    assert.equal(error, undefined)
  })

  test('an invite grants its role even if the expiring binding of the guest is deleted meanwhile', {
    skip,
  }, async () => {
    const { organization, token } = platform.owner
    const { identity } = await platform.addIdentity(organization)
    const expireTime = new Date(Date.now() + 3_600_000).toISOString()
    const roleBinding = { identityUid: identity, roleUid: viewer, expireTime }
    const request = { parent: organization, roleBinding }
    const { error } = await door.call(RoleBindingsService.method.createRoleBinding, request, token)
    assert.equal(error, undefined)
    await duringChange(
      () => unbind(identity),
      () => platform.store.write(() => bindRole(context, identity, viewer, organization)),
    )
    assert.equal(await countOf('role_bindings', `identity = '${identity}' and parent = '${organization}'`), 1)
  })
})
