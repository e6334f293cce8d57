// Every method of the contract that writes leaves an entry in the event log, whether it succeeds or is refused.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Store } from '../../server/store/db.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { matrix } from '../iam/access-matrix.ts'
import { callers } from '../iam/matrix-row.ts'
import { until } from '../server/stemmad.ts'

const same =
  'the request of the matrix contains what is stored already; every update is recorded in one place (table.ts)'

/** Methods whose calls with the requests of the access matrix leave no entry at once, and why. */
const unrecorded: Record<string, string> = {
  'platform.registry.Registry.UpdateTag': same,
  'platform.registry.v2beta1.TagsService.UpdateTag': same,
  'platform.registry.v2beta1.ReposService.UpdateRepo': same,
  'platform.iam.Identities.Update': same,
  'platform.iam.v2beta1.IdentitiesService.UpdateIdentity': same,
  'platform.iam.v2beta1.RolesService.UpdateRole': same,
  'platform.iam.v2beta1.IdentityProvidersService.UpdateIdentityProvider': same,
  'platform.iam.v2beta1.GroupInvitesService.UpdateGroupInvite': same,
  'platform.iam.v2beta1.AccountAssociationsService.UpdateAccountAssociation': same,
  'platform.events.Identities.UpdateMetadata': same,
  'platform.events.v2beta1.SubscriptionsService.UpdateSubscription': same,
  'platform.oidc.SecurityTokenService.Exchange': 'is recorded shortly afterwards, see the test below',
}

const { createGroup } = GroupsService.method
const { exchange } = SecurityTokenService.method

onEachStore('the event log', (engine) => {
  let platform: Platform
  let door: Door
  before(async () => {
    platform = await startPlatform(engine, ['--terms', 'terms-of-use.v1'])
    door = restDoor(platform.url)
  })
  after(() => platform.stop())

  const entriesOf = async (store: Store, method: string, actor: string) =>
    (await store.query(
      sql`select code, uid, kind from events where method = ${method} and actor = ${actor}`,
    )) as [number, string, string][]

  async function makeGroup(): Promise<string> {
    const request = { parent: platform.owner.organization, group: { name: 'here' } }
    return (await door.call(createGroup, request, platform.owner.token)).body?.uid as string
  }

  test('has an entry of each successful write', async () => {
    const { owner, store, app } = platform
    for (const { method } of app.endpoints) {
      const row = matrix[method.name]
      const mayCall = row?.codes[callers.indexOf('owner above')] === 0
      if (!row || !mayCall || method.isRead || method.name in unrecorded) continue
      const request = await row.request({
        ...{ platform, door, owner, organization: owner.organization, here: await makeGroup() },
      })
      const previous = await entriesOf(store, method.name, owner.identity)
      const { error } = await door.call(method.desc, request, owner.token)
      assert.equal(error, undefined, method.name)
      const entries = (await entriesOf(store, method.name, owner.identity)).slice(previous.length)
      assert.ok(entries.length > 0, `${method.name} left no entry`)
      for (const [code, uid, kind] of entries) assert.ok(code === 0 && uid !== '' && kind !== '', method.name)
    }
  })

  test('has an entry with the code for each refused write, up to 60 a minute', async () => {
    const { organization } = platform.owner
    const viewer = await platform.addIdentity(organization, 'viewer')
    const method = 'platform.iam.v2beta1.GroupsService.CreateGroup'
    const request = { parent: organization, group: { name: 'refused' } }
    for (let at = 0; at < 65; at++)
      assert.equal((await door.call(createGroup, request, viewer.token)).error?.code, 7)
    await until(async () => (await entriesOf(platform.store, method, viewer.identity)).length >= 60)
    const entries = await entriesOf(platform.store, method, viewer.identity)
    assert.equal(entries.length, 60)
    assert.deepEqual(entries[0], [7, organization, 'groups'])
  })

  test('has an entry of each token exchange, in the organization of the identity', async () => {
    const { owner, store } = platform
    const { error } = await door.call(exchange, { identity: owner.identity, aud: [] }, owner.token)
    assert.equal(error, undefined)
    const method = 'platform.oidc.SecurityTokenService.Exchange'
    await until(async () => (await entriesOf(store, method, owner.identity)).length > 0)
    assert.deepEqual((await entriesOf(store, method, owner.identity))[0], [0, owner.identity, 'identities'])
  })

  test('has nothing of strangers, and nothing of organizations that do not exist', async () => {
    const { organization } = platform.owner
    const { identity, token } = await platform.addIdentity(organization)
    const method = 'platform.iam.v2beta1.GroupsService.CreateGroup'
    const send = (parent: string, sent?: string) =>
      door.call(createGroup, { parent, group: { name: 'refused' } }, sent)
    await send(organization, undefined)
    await send(organization, 'x.y.z')
    await send('0'.repeat(40), token)
    await send(organization, token) // recorded after the others
    await until(async () => (await entriesOf(platform.store, method, identity)).length > 0)
    assert.equal((await entriesOf(platform.store, method, identity)).length, 1)
    assert.equal((await entriesOf(platform.store, method, '')).length, 0)
  })
})
