// Every method of the contract that writes leaves an entry in the event log, whether it succeeds or is refused.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { AuditEntriesService } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { recordedEvents } from '@stemma/server/testing/sealed-events.ts'
import { eventTypeOf } from '../../server/cloud-events/event-catalog.ts'
import { cloudEventsOf } from '../../server/outgoing-events.ts'
import type { Store } from '../../server/store/db.ts'
import { eventColumns, eventOf } from '../../server/store/events/event-row.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { matrix } from '../iam/access-matrix.ts'
import { callers } from '../iam/matrix-row.ts'
import { until } from '../server/stemmad.ts'

/** Methods whose calls are recorded only after the response, and the test of their entries. */
const recordedLater: Record<string, string> = {
  'platform.oidc.SecurityTokenService.Exchange': 'has an entry of each token exchange',
}

const digest = `sha256:${'b'.repeat(64)}`
const name = 'another'

/** For updates whose request in the access matrix would change nothing: values that differ from the stored ones. */
const differing: Record<string, JsonObject> = {
  'platform.registry.Registry.UpdateTag': { digest },
  'platform.registry.v2beta1.TagsService.UpdateTag': { digest },
  'platform.registry.v2beta1.ReposService.UpdateRepo': { name },
  'platform.iam.Identities.Update': { name },
  'platform.iam.v2beta1.IdentitiesService.UpdateIdentity': { name },
  'platform.iam.v2beta1.RolesService.UpdateRole': { name },
  'platform.iam.v2beta1.IdentityProvidersService.UpdateIdentityProvider': { name },
  'platform.iam.v2beta1.GroupInvitesService.UpdateGroupInvite': { email: 'other@example.com' },
  'platform.iam.v2beta1.AccountAssociationsService.UpdateAccountAssociation': { name },
  'platform.events.Identities.UpdateMetadata': { companyName: name },
  'platform.events.v2beta1.SubscriptionsService.UpdateSubscription': { description: 'another sink' },
}

/** Adds the values to the resource in a request, or to the request if the resource is not in a field of its own. */
function withValues(request: JsonObject, values: JsonObject | undefined): JsonObject {
  if (!values) return request
  const field = 'id' in request ? undefined : Object.keys(request).find((key) => isObject(request[key]))
  return field
    ? { ...request, [field]: { ...(request[field] as JsonObject), ...values } }
    : { ...request, ...values }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

type Entry = { method: string; changes: { path: string }[]; details?: JsonObject }

const { listAuditEntries } = AuditEntriesService.method
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
      sql`select code, uid, kind from ${recordedEvents} where method = ${method} and actor = ${actor}`,
    )) as [number, string, string][]

  /** The types of the events that calls of the method have caused. */
  async function eventTypesOf(method: string): Promise<Set<string | undefined>> {
    const rows = await platform.store.query(
      sql`select ${raw(eventColumns.join(', '))} from ${recordedEvents} where method = ${method}`,
    )
    const toCloudEvent = cloudEventsOf(platform.config)
    return new Set(rows.map((row) => toCloudEvent(eventOf(row))?.attributes.type))
  }

  async function makeGroup(): Promise<string> {
    const request = { parent: platform.owner.organization, group: { name: 'here' } }
    return (await door.call(createGroup, request, platform.owner.token)).body?.uid as string
  }

  test('has an entry of each successful write, with the event type that the contract declares', async () => {
    const { owner, store, app } = platform
    for (const { method } of app.endpoints) {
      const row = matrix[method.name]
      const mayCall = row?.codes[callers.indexOf('owner above')] === 0
      if (!row || !mayCall || method.isRead || method.name in recordedLater) continue
      const context = { platform, door, owner, organization: owner.organization, here: await makeGroup() }
      const request = withValues(await row.request(context), differing[method.name])
      const previous = await entriesOf(store, method.name, owner.identity)
      const { error } = await door.call(method.desc, request, owner.token)
      assert.equal(error, undefined, method.name)
      const entries = (await entriesOf(store, method.name, owner.identity)).slice(previous.length)
      assert.ok(entries.length > 0, `${method.name} left no entry`)
      for (const [code, uid, kind] of entries) assert.ok(code === 0 && uid !== '' && kind !== '', method.name)
      const eventType = eventTypeOf(method.desc)
      if (eventType === undefined) continue
      const types = await eventTypesOf(method.name)
      assert.ok(
        types.has(platform.config.eventTypePrefix + eventType),
        `${method.name} caused no ${eventType}`,
      )
    }
  })

  test('names the fields that each update has changed, without the values of secrets', async () => {
    const { owner } = platform
    const entries: Entry[] = []
    for (let pageToken = ''; ; ) {
      const request = { actor: owner.identity, action: 'updated', pageSize: 200, pageToken }
      const { body } = await door.call(listAuditEntries, request, owner.token)
      entries.push(...(body?.entries as unknown as Entry[]))
      pageToken = (body?.nextPageToken ?? '') as string
      if (pageToken === '') break
    }
    const updates = new Set(entries.map(({ method }) => method))
    for (const method of Object.keys(differing)) assert.ok(updates.has(method), method)
    for (const { method, changes, details } of entries)
      assert.ok(changes.length > 0 || details, `${method} has no changed field`)
    const pathsOf = (suffix: string) =>
      entries.find(({ method }) => method.endsWith(suffix))?.changes.map(({ path }) => path)
    assert.deepEqual(pathsOf('.UpdateAccountAssociation'), ['name'])
    assert.deepEqual(pathsOf('SubscriptionsService.UpdateSubscription'), ['description'])
    const rotation = entries.find(({ method }) => method.endsWith('.RotateSubscriptionSecret'))
    assert.deepEqual(rotation?.changes, [{ path: 'secret', truncated: false, hidden: true }])
  })

  test('has metrics', async () => {
    const metrics = await (await fetch(`${platform.url}/metrics`)).text()
    for (const name of [
      'events_recorded_total',
      'events_unsealed',
      'event_queue_length',
      'event_deliveries_pending',
    ])
      assert.match(metrics, new RegExp(`^stemma_${name} \\d+$`, 'm'))
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

  test('has the entries of refused writes in the group of the resource', async () => {
    const { organization } = platform.owner
    const { identity, token } = await platform.addIdentity(organization)
    const team = `${organization}/${'1'.repeat(16)}`
    const tag = `${team}/${'2'.repeat(16)}/${'3'.repeat(16)}`
    await door.call(AccountAssociationsService.method.deleteAccountAssociation, { uid: team }, token)
    await door.call(TagsService.method.deleteTag, { uid: tag }, token)
    const groups = () =>
      platform.store.query(
        sql`select kind, group_uid from ${recordedEvents} where actor = ${identity} and action = 'refused' order by kind`,
      )
    await until(async () => (await groups()).length === 2)
    assert.deepEqual(await groups(), [
      ['account_associations', team],
      ['tags', team],
    ])
  })

  test('has an entry of each token exchange, in the organization of the identity', async () => {
    const { owner, store } = platform
    const { error } = await door.call(exchange, { identity: owner.identity, aud: [] }, owner.token)
    assert.equal(error, undefined)
    const method = 'platform.oidc.SecurityTokenService.Exchange'
    await until(async () => (await entriesOf(store, method, owner.identity)).length > 0)
    assert.deepEqual((await entriesOf(store, method, owner.identity))[0], [0, owner.identity, 'identities'])
  })

  test('has no entries of unauthenticated callers or of organizations that do not exist', async () => {
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
