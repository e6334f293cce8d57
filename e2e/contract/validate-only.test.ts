// Calls with `validate_only` (docs/specification.md, Validation): the answer of the call, and no change.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { clone, create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  RoleBindingSchema,
  RoleBindingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import type { Method } from '@stemma/api/method.ts'
import { hasValidateOnly, validateOnlyField } from '@stemma/api/validation.ts'
import { recordedEvents } from '@stemma/server/testing/sealed-events.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { roles } from '../../server/resources/iam/roles/table.ts'
import { dumpedTables, loadMigrations } from '../../server/store/migrations.ts'
import { sql } from '../../server/store/sql.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { matrix } from '../iam/access-matrix.ts'
import type { MatrixContext } from '../iam/matrix-context.ts'
import { createIn, operations } from '../iam/matrix-context.ts'
import { violations } from './examples.ts'
import { methodsWithoutValidateOnly } from './methods-without-validate-only.ts'

const { createGroup, getGroup, listGroups } = GroupsService.method
const { generateScimToken } = IdentityProvidersService.method

const writes: Method[] = [...operations.values()]
  .map(({ method }) => method)
  .filter(({ name, isRead, isInternal }) => name.includes('.v2beta1.') && !isRead && !isInternal)

const field = (message: DescMessage) => message.fields.find(({ name }) => name === validateOnlyField)

describe('validate_only', () => {
  test('is a field with the same number in every writing method of v2beta1, except those that are listed', () => {
    const lacking = writes.filter(({ canValidate }) => !canValidate).map(({ name }) => name)
    assert.deepEqual(lacking.sort(), Object.keys(methodsWithoutValidateOnly).sort())
    for (const { desc, canValidate } of writes)
      if (canValidate) assert.equal(field(desc.input)?.number, 1100, desc.input.typeName)
  })

  test('is in no method that reads, and in no nested request except those of a batch', () => {
    for (const { method } of operations.values()) {
      if (method.isRead) assert.equal(method.canValidate, false, method.name)
      const nested = method.desc.input.fields.filter(
        ({ message }) => message !== undefined && hasValidateOnly(message),
      )
      const isBatch = method.name.endsWith('.BatchCreateRoleBindings')
      assert.equal(nested.length, isBatch ? 1 : 0, method.name)
    }
  })
})

/** Requests that succeed, of methods whose requests in the access matrix fail. */
const successful: Record<string, (context: MatrixContext) => Promise<JsonObject>> = {
  async RegenerateScimToken(context) {
    const { uid, etag } = await providerWithToken(context)
    return { identityProviderUid: uid, etag }
  },
  RevokeScimToken: async (context) => ({ identityProviderUid: (await providerWithToken(context)).uid }),
  async SetScimEnabled(context) {
    const { uid, etag } = await providerWithToken(context)
    return { identityProviderUid: uid, enabled: true, etag }
  },
  AcceptTerms: async ({ here }) => ({ group: here, documentIds: ['terms-of-use.v1'] }),
}

async function providerWithToken(context: MatrixContext): Promise<{ uid: string; etag: string }> {
  const uid = await createIn(context, 'IdentityProvider')
  const { body, error } = await context.door.call(
    generateScimToken,
    { identityProviderUid: uid },
    context.owner.token,
  )
  assert.ok(body, error?.message)
  return { uid, etag: body.etag as string }
}

/** Columns that change without a call: the server seals recorded events and delivers them in the background. */
const upkeep: Record<string, readonly string[]> = {
  events: ['sequence', 'hash'],
  subscriptions: ['update_time', 'proto', 'json'],
}
const upkeepTables = ['event_chains', 'tasks', 'delivery_queues', 'deliveries']

async function contentsOf({ store }: Platform): Promise<string[]> {
  const lines: string[] = []
  for await (const { table: storedIn, columns, rows } of store.snapshot(dumpedTables(loadMigrations()))) {
    if (upkeepTables.includes(storedIn)) continue
    // Sealing moves events from one table to the other.
    const table = storedIn === 'unsealed_events' ? 'events' : storedIn
    const ignored = upkeep[table] ?? []
    // Failed calls without validate_only are recorded with a delay, so their rows are not compared.
    const kept =
      table === 'events' ? rows.filter((row) => row[columns.indexOf('action')] !== 'refused') : rows
    for (const row of kept)
      lines.push(`${table} ${JSON.stringify(row.filter((_, at) => !ignored.includes(columns[at] ?? '')))}`)
  }
  return lines.sort()
}

/** The rows that are in only one of the two lists, each cut to 400 characters. */
const differences = (before: readonly string[], now: readonly string[]): string[] => {
  const [old, current] = [new Set(before), new Set(now)]
  return [...old.symmetricDifference(current)].map((line) => line.slice(0, 400))
}

const secrets = ['code', 'url', 'password', 'token', 'secret']
const varyingFields = ['etag', 'keyId', 'createTime', 'updateTime', 'issuerKeys', ...secrets]
/** Fields of subscriptions and deliveries that the sender sets in the background. */
const ofSender = [
  'handshake',
  'state',
  'stateReason',
  'attempts',
  'requestHeaders',
  'attemptCount',
  'nextAttemptTime',
  'eventId',
]

/** A body or the code of an error, without values that differ in every call. */
function normalized({ body, error }: CallResult): unknown {
  if (error) return error.code
  const text = JSON.stringify(body, (key, value) =>
    [...varyingFields, ...ofSender].includes(key) ? undefined : value,
  )
  return JSON.parse(
    text.replaceAll(/[0-9a-f]{16}/g, 'segment').replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"'),
  )
}

type Case = { method: Method; request: JsonObject; viewerCode: number; headers: Record<string, string> }

/** Adds a change to an update, because the updates in the matrix contain the current values. */
function changed({ desc, resource }: Method, request: JsonObject): JsonObject {
  const key = resource?.jsonName ?? ''
  const isUpdate = desc.name.startsWith('Update') && resource?.message !== undefined
  if (!isUpdate) return request
  const values = request[key] as JsonObject
  const { fields } = resource.message
  const hasField = (name: string) => fields.some((candidate) => candidate.name === name)
  const change = [{ description: 'changed' }, { email: 'grace@acme.example' }, { name: 'changed' }].find(
    (value) =>
      Object.keys(value).every((name) =>
        hasField(name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
      ),
  )
  return { ...request, [key]: { ...values, ...change } }
}

onEachStore('a call that only validates', (engine) => {
  let platform: Platform
  let doors: [Door, Door]
  before(async () => {
    platform = await startPlatform(engine, ['--terms', 'terms-of-use.v1'])
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
    const { organization } = platform.owner
    await platform.addIdentity(organization, 'owner') // SCIM provisioning needs two owners
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function newContext(): Promise<MatrixContext> {
    const { owner } = platform
    const here = await platform.addGroup(owner.organization, 'here')
    return { platform, door: doors[0], owner, organization: owner.organization, here }
  }

  test('answers as the call does, and changes nothing', async () => {
    const { owner } = platform
    const viewer = await platform.addIdentity(owner.organization, 'viewer')
    const cases: Case[] = []
    for (const method of writes.filter(({ canValidate }) => canValidate)) {
      const row = matrix[method.name]
      assert.ok(row, `the access matrix has no row for ${method.name}`)
      const make = successful[method.desc.name] ?? row.request
      const request = changed(method, await make(await newContext()))
      const [, , , viewerCode] = row.codes
      cases.push({ method, request, viewerCode, headers: { 'idempotency-key': randomUUID() } })
    }
    const contents = await contentsOf(platform)
    const answers = new Map<Method, unknown>()
    for (const { method, request, viewerCode, headers } of cases) {
      const dry = { ...request, validateOnly: true }
      for (const door of doors) {
        const refused = await door.call(method.desc, dry, viewer.token)
        const message = `${door.name} ${method.name}: ${refused.error?.message}`
        assert.equal(refused.error?.code ?? 0, viewerCode, message)
        const { result, header } = await door.send(method.desc, dry, owner.token, headers)
        assert.equal(header('etag'), undefined, method.name)
        const answer = normalized(result)
        if (answers.has(method)) assert.deepEqual(answer, answers.get(method), method.name)
        answers.set(method, answer)
        for (const secret of secrets) assert.equal(result.body?.[secret] || undefined, undefined, method.name)
      }
    }
    assert.deepEqual(differences(contents, await contentsOf(platform)), [])
    const unchanged: string[] = []
    let count = await writeCount()
    for (const { method, request, headers } of cases) {
      const previous = count
      const { result } = await doors[0].send(method.desc, request, owner.token, headers)
      assert.deepEqual(normalized(result), answers.get(method), method.name)
      count = await writeCount()
      if (result.body && count === previous) unchanged.push(method.desc.name)
    }
    assert.deepEqual(unchanged, [])
  })

  /** Every write changes this: the counts of events and of accepted terms, and the versions of SCIM settings. */
  async function writeCount(): Promise<string> {
    const [row] =
      await platform.store.query(sql`select (select count(*) from ${recordedEvents} where action <> 'refused'),
      (select sum(version) from scim_settings), (select count(*) from terms_acceptances)`)
    return JSON.stringify(row)
  }

  test('creates no access request when a person requests access to an organization', async () => {
    const organization = await platform.addOrganization('people.example.com')
    await verifyOrganization(platform.store, organization.organization, { isVerified: true, now: Date.now() })
    const person = await platform.addUser('ada@people.example.com')
    const request = { groupUid: organization.organization }
    const { requestGroupAccess } = GroupsService.method
    const contents = await contentsOf(platform)
    for (const door of doors) {
      const { error } = await door.call(requestGroupAccess, { ...request, validateOnly: true }, person.token)
      assert.equal(error, undefined)
    }
    assert.deepEqual(differences(contents, await contentsOf(platform)), [])
    const { error } = await doors[0].call(requestGroupAccess, request, person.token)
    assert.equal(error, undefined)
  })

  test('reports wrong values, conflicts, preconditions and missing resources as the call does', async () => {
    const { here, organization } = await newContext()
    const { token, identity } = platform.owner
    const { deleteGroup, updateGroup } = GroupsService.method
    const { createRoleBinding } = RoleBindingsService.method
    const binding = { identityUid: identity, roleUid: builtInRole('viewer').uid }
    const made = await doors[0].call(createRoleBinding, { parent: here, roleBinding: binding }, token)
    assert.ok(made.body)
    const calls = [
      [createGroup, { parent: here, group: { name: 'NOT A NAME' } }, 3],
      [createRoleBinding, { parent: here, roleBinding: binding }, 6],
      [deleteGroup, { uid: here }, 9],
      [deleteGroup, { uid: `${organization}/${'0'.repeat(16)}` }, 5],
    ] as const
    const contents = await contentsOf(platform)
    for (const door of doors) {
      for (const [method, request, code] of calls) {
        const real = await door.call(method, request, token)
        const dry = await door.call(method, { ...request, validateOnly: true }, token)
        assert.equal(dry.error?.code, code)
        assert.deepEqual(dry.error, real.error)
      }
      const change = { group: { uid: here, description: 'new' }, validateOnly: true }
      const stale = await door.send(updateGroup, change, token, { 'if-match': '"1"' })
      assert.equal(stale.result.error?.code, 10)
    }
    assert.deepEqual(differences(contents, await contentsOf(platform)), [])
  })

  test('can be requested in the query over REST; validate_only is refused in places where it would be ignored', async () => {
    const { here } = await newContext()
    const { token } = platform.owner
    const send = async (verb: string, path: string, body: JsonObject) => {
      const response = await fetch(`${platform.url}${path}`, {
        method: verb,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: await response.text() }
    }
    const contents = await contentsOf(platform)
    const limits = { resourceLimits: { repos: 5 } }
    const custom = `/iam/v2beta1/groups/${here}:setLimits`
    assert.equal((await send('POST', `${custom}?validateOnly=true`, limits)).status, 200)
    assert.equal((await send('POST', custom, { ...limits, validate_only: true })).status, 200)
    const contradiction = { ...limits, validateOnly: false }
    assert.equal((await send('POST', `${custom}?validate_only=true`, contradiction)).status, 200)
    const create = `/iam/v2beta1/groups/${here}`
    assert.equal((await send('POST', `${create}?validateOnly=true`, { name: 'new' })).status, 200)
    const misplaced = await send('POST', create, { name: 'new', validateOnly: true })
    assert.equal(misplaced.status, 400)
    assert.match(misplaced.body, /validateOnly.*must be in the query/)
    const identity = {
      name: 'new',
      claimMatch: { issuer: 'https://a.test', subject: 'a', validateOnly: true },
    }
    const misplacedInside = await send('POST', `/iam/v2beta1/identities/${here}`, identity)
    assert.equal(misplacedInside.status, 400)
    assert.match(misplacedInside.body, /claimMatch\.validateOnly.*must be in the query/)
    const roleBinding = {
      identityUid: platform.owner.identity,
      roleUid: builtInRole('viewer').uid,
      validateOnly: true,
    }
    const batch = { parent: here, requests: [{ roleBinding }] }
    const misplacedInBatch = await send('POST', '/iam/v2beta1/roleBindings:batchCreate', batch)
    assert.equal(misplacedInBatch.status, 400, misplacedInBatch.body)
    assert.match(misplacedInBatch.body, /requests\[0\]\.roleBinding\.validateOnly.*is not a field/)
    const v1 = `/iam/v1/groups/${here}`
    assert.equal((await send('POST', `${v1}?validateOnly=true`, { name: 'new' })).status, 400)
    assert.equal((await send('PUT', v1, { name: 'new', validate_only: true })).status, 400)
    const metadata = '/iam/v2beta1/identities:updateIdentityMetadata'
    const company = { identityMetadata: { company: 'x' }, updateMask: 'company' }
    assert.equal((await send('PATCH', metadata, { ...company, validateonly: true })).status, 400)
    const nested = { ...company, identityMetadata: { company: 'x', validateOnly: true } }
    assert.equal((await send('PATCH', metadata, nested)).status, 400)
    assert.deepEqual(differences(contents, await contentsOf(platform)), [])
    // The keys of a map are data.
    const claims = { validateOnly: 'true' }
    const data = { name: 'new', claimMatch: { issuer: 'https://a.test', subject: 'a', claims } }
    assert.equal((await send('POST', `/iam/v2beta1/identities/${here}`, data)).status, 200)
    const created = await doors[1].call(Groups.method.create, { parent: here, group: { name: 'new' } }, token)
    assert.ok(created.body)
  })

  test('applies to a whole batch, and not to one of its requests', async () => {
    const context = await newContext()
    const identityUid = await createIn(context, 'Identity')
    const roleBinding = { identityUid, roleUid: builtInRole('viewer').uid }
    const batch = { parent: context.here, requests: [{ roleBinding, validateOnly: true }] }
    const { batchCreateRoleBindings } = RoleBindingsService.method
    for (const door of doors) {
      const { error } = await door.call(batchCreateRoleBindings, batch, platform.owner.token)
      assert.deepEqual(error && violations(error), ['requests[0].validateOnly'])
      const dry = await door.call(
        batchCreateRoleBindings,
        { ...batch, validateOnly: true },
        platform.owner.token,
      )
      assert.equal((dry.body?.roleBindings as JsonObject[]).length, 1)
    }
  })

  test('terminates and deletes nothing, even if the delete takes several transactions', async () => {
    const { here } = await newContext()
    const { token } = platform.owner
    const { identity } = await platform.addIdentity(platform.owner.organization)
    const time = Date.now()
    // More role bindings than one transaction deletes.
    const count = 250
    const expired = create(RoleBindingSchema, { expireTime: timestampFromMs(time - 1) })
    const newUids = () => Array.from({ length: count }, () => newChildUid(here, time, randomBytes))
    // Each role binding needs its own role, because an identity can have a role in a group only once.
    const roleUids = newUids()
    await platform.store.write(function* () {
      yield* createMany(
        roles,
        roleUids.map((uid, at) => [create(RoleSchema, { name: `role ${at}` }), { uid, now: time }]),
      )
      yield* createMany(
        roleBindings,
        newUids().map((uid, at) => {
          const columns = { identity, role: roleUids[at] ?? '' }
          return [clone(RoleBindingSchema, expired), { uid, now: time, columns }]
        }),
      )
    })
    const contents = await contentsOf(platform)
    const { deleteIdentity } = IdentitiesService.method
    for (const door of doors) {
      const { error } = await door.call(deleteIdentity, { uid: identity, validateOnly: true }, token)
      assert.equal(error, undefined)
    }
    assert.deepEqual(differences(contents, await contentsOf(platform)), [])
    assert.equal((await doors[1].call(deleteIdentity, { uid: identity }, token)).error, undefined)
  })

  test('returns a uid under which nothing is stored', async () => {
    const { here } = await newContext()
    const { token } = platform.owner
    const request = { parent: here, group: { name: 'new' }, validateOnly: true }
    for (const door of doors) {
      const { body } = await door.call(createGroup, request, token)
      assert.equal((await door.call(getGroup, { uid: body?.uid as string }, token)).error?.code, 5)
      const listed = await door.call(listGroups, { uidp: { childrenOf: here } }, token)
      assert.equal(listed.body?.totalCount, '0')
    }
  })
})
