// The group that a call of the access matrix is about, and resources in it, created from the examples of the reference.
import { randomBytes } from 'node:crypto'
import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { create, hasOption } from '@bufbuild/protobuf'
import { resource } from '@stemma/api/gen/platform/common/resource_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { bodyExample } from '@stemma/api/reference/examples.ts'
import type { Operation } from '@stemma/api/reference/operations.ts'
import { describeServices } from '@stemma/api/reference/operations.ts'
import { resourceOptions } from '@stemma/api/resource.ts'
import { toCamel } from '../../server/aip/field-path.ts'
import { newChildUid, rootOf } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { entryUid } from '../../server/resources/audit/selection.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groupAccessRequests } from '../../server/resources/iam/group-access-requests/table.ts'
import type { Door } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'

/** `here` is a new group of the organization. */
export type MatrixContext = {
  platform: Platform
  door: Door
  owner: TestIdentity
  organization: string
  here: string
  /** The resources in the group by the name of their kind, if all calls can be about the same ones. */
  created?: Map<string, Promise<string>>
}

/**
 * Every call of the contract by the name of its method, with its first HTTP binding. The order is reversed, so that the
 * first binding overwrites the others in the map.
 */
export const operations: ReadonlyMap<string, Operation> = new Map(
  describeServices()
    .flatMap((service) => service.operations)
    .map((operation): [string, Operation] => [operation.method.name, operation])
    .reverse(),
)

/** The messages of all resources by their short name, such as `RoleBinding`. */
export const resourceMessages: ReadonlyMap<string, DescMessage> = new Map(
  [...operations.values()]
    .map(({ method }) => method.desc.output)
    .filter((message) => hasOption(message, resource))
    .map((message) => [message.name, message]),
)

/** Functions for resources that cannot be created by a v2beta1 call with the example of the reference. */
const creators: Record<string, (context: MatrixContext) => Promise<string>> = {
  Group: async ({ here }) => here,
  GroupAccessRequest: createAccessRequest,
  Advisory: async (context) => (await createAdvisory(context)).id,
  ExternalGroupRoleMapping: createMapping,
  Delivery: createDelivery,
  AuditEntry: findAuditEntry,
}

/** The creation of the group is an entry of the audit log. */
async function findAuditEntry({ platform, here }: MatrixContext): Promise<string> {
  const [event] = (await sealedEvents(platform.store, rootOf(here))).filter(({ uid }) => uid === here)
  return entryUid(here, event?.sequence ?? 0)
}

/** Creates a resource in the group, or in a new parent there, unless it was created before. Returns its uid. */
export function createIn(context: MatrixContext, name: string): Promise<string> {
  const uid = context.created?.get(name) ?? createNew(context, name)
  context.created?.set(name, uid)
  return uid
}

async function createNew(context: MatrixContext, name: string): Promise<string> {
  const creator = creators[name]
  if (creator) return creator(context)
  const operation = [...operations.values()].find(
    ({ method: { desc } }) => desc.name === `Create${name}` && resourceMessages.get(name) === desc.output,
  )
  if (!operation) throw new Error(`no method creates a ${name}`)
  const request = await requestAt(context, operation, await parentFor(context, name))
  const { body, error } = await context.door.call(operation.method.desc, request, context.owner.token)
  if (!body) throw new Error(`${operation.method.name} failed: ${error?.message}`)
  return body.uid as string
}

/** Returns the uid of a parent for a new resource: the group or, for example, a new repo. */
export function parentFor(context: MatrixContext, name: string): Promise<string> {
  const message = resourceMessages.get(name)
  return createIn(context, message ? (resourceOptions(message).parent.split('.').at(-1) ?? '') : 'Group')
}

/** The request of a call for the resource or parent with this uid. Its body is the example of the reference. */
export async function requestAt(context: MatrixContext, { method, body, variables }: Operation, uid: string) {
  const sample = body ? await withIdentity(context, bodyExample(body)) : {}
  const request = (body?.isSingleField ? { [method.resource?.jsonName ?? '']: sample } : sample) as JsonObject
  const path =
    method.scope.length > 0
      ? method.scope.map(({ jsonName }) => jsonName)
      : (variables[0]?.name.split('.').map(toCamel) ?? [])
  return withValue(request, path, uid)
}

function withValue(object: JsonObject, [first = '', ...rest]: string[], value: string): JsonObject {
  const inner = (object[first] ?? {}) as JsonObject
  return { ...object, [first]: rest.length === 0 ? value : withValue(inner, rest, value) }
}

/** The identity in an example of the reference does not exist. Replaces it with a new one. */
async function withIdentity(context: MatrixContext, sample: JsonValue): Promise<JsonValue> {
  const isIdentity = (key: string, value: unknown) =>
    /^identity(?:Uid)?$/.test(key) && typeof value === 'string'
  let hasIdentity = false
  JSON.stringify(sample, (key, value) => {
    hasIdentity ||= isIdentity(key, value)
    return value
  })
  if (!hasIdentity) return sample
  const uid = await createIn(context, 'Identity')
  return JSON.parse(JSON.stringify(sample, (key, value) => (isIdentity(key, value) ? uid : value)))
}

/** Used in place of the example of the reference, which has a scope that does not exist. */
export const mappingIn = ({ here }: MatrixContext) => ({
  externalGroupId: 'developers',
  roleUid: builtInRole('viewer').uid,
  scope: here,
})

async function createMapping(context: MatrixContext): Promise<string> {
  const { createExternalGroupRoleMapping } = ExternalGroupRoleMappingsService.method
  const parent = await createIn(context, 'IdentityProvider')
  const request = { parent, externalGroupRoleMapping: mappingIn(context) }
  const { body, error } = await context.door.call(
    createExternalGroupRoleMapping,
    request,
    context.owner.token,
  )
  if (!body) throw new Error(`Create failed: ${error?.message}`)
  return body.uid as string
}

async function createDelivery(context: MatrixContext): Promise<string> {
  const { testSubscription } = SubscriptionsService.method
  const uid = await createIn(context, 'Subscription')
  const { body, error } = await context.door.call(testSubscription, { uid }, context.owner.token)
  if (!body) throw new Error(`TestSubscription failed: ${error?.message}`)
  return body.uid as string
}

/** Writes directly into the store, because a call can request access only to a verified organization. */
async function createAccessRequest({ platform, here }: MatrixContext): Promise<string> {
  const user = await platform.addIdentity('')
  const uid = newChildUid(here, Date.now(), randomBytes)
  const facts = { uid, now: Date.now(), columns: { identity: user.identity } }
  await platform.store.write(() =>
    createEntry(operatorAccess, groupAccessRequests, create(GroupAccessRequestSchema), facts),
  )
  return uid
}

export const advisory = { artifactName: 'static', artifactType: 'apk', aliases: ['CVE-2026-12345'] }
export const advisoryEvent = { pendingUpstreamFix: { note: 'reported' } }

/** Creates an advisory with one event and returns the uids of both. Only v1 can create advisories. */
export async function createAdvisory({
  door,
  owner,
  here,
}: MatrixContext): Promise<{ id: string; event: string }> {
  const request = { parentId: here, advisory: { ...advisory, events: [advisoryEvent] } }
  const { body, error } = await door.call(Advisories.method.create, request, owner.token)
  if (!body) throw new Error(`Create failed: ${error?.message}`)
  const [event] = body.events as { id: string }[]
  return { id: body.id as string, event: event?.id ?? '' }
}
