// Property test: the same random sequence of calls runs in two organizations. Each call uses v1 in one of them and v2
// in the other. The calls must return equal status codes and leave equal resources, and v1 and v2 must show the same
// resources.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { Roles } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import fc from 'fast-check'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Drawn } from '../iam/world.ts'
import { anyIndex, pick } from '../iam/world.ts'

const internal = 13
const kinds = ['group', 'role', 'identity', 'binding'] as const
type Kind = (typeof kinds)[number]

/** Includes invalid names and roles without capabilities. */
const anyStep = fc.record({
  kind: fc.constantFrom(...kinds),
  verb: fc.constantFrom('create', 'create', 'update', 'delete'),
  /** Whether the first organization uses v1 and the second v2, or the other way round. */
  isV1: fc.boolean(),
  door: fc.nat({ max: 1 }),
  /** Selects the resource to change, the parent of a new one, and the role of a binding. */
  at: anyIndex,
  /** Selects the identity of a binding, and the subject of an identity. */
  by: anyIndex,
  name: fc.constantFrom('a', 'b', 'c', 'NO'),
  description: fc.constantFrom('', 'described'),
  capabilities: fc.subarray(['GROUPS_LIST', 'ROLES_LIST', 'GROUPS_CREATE']),
})
type Step = Drawn<typeof anyStep>

/** An organization and the resources created in it, in order of creation. */
type Twin = { organization: string; token: string; made: Record<Kind, string[]> }

const methods: Record<Kind, { v1: Record<string, DescMethod>; v2: Record<string, DescMethod> }> = {
  group: { v1: Groups.method, v2: GroupsService.method },
  role: { v1: Roles.method, v2: RolesService.method },
  identity: { v1: Identities.method, v2: IdentitiesService.method },
  binding: { v1: RoleBindings.method, v2: RoleBindingsService.method },
}
const nouns = { group: 'Group', role: 'Role', identity: 'Identity', binding: 'RoleBinding' }
const fields = { group: 'group', role: 'role', identity: 'identity', binding: 'roleBinding' }
const collections = { group: 'groups', role: 'roles', identity: 'identities', binding: 'roleBindings' }

const nobody = '0'.repeat(40)

const possibleParentsOf = ({ organization, made }: Twin) => [organization, ...made.group]
const targetOf = (twin: Twin, { kind, at }: Step) =>
  pick(twin.made[kind], at) ?? `${twin.organization}/${'0'.repeat(16)}`

/** The resource that a step creates or updates, with the field names of the version. */
function resourceOf(twin: Twin, step: Step, isV1: boolean): JsonObject {
  const { name, description, capabilities, by, at } = step
  const claimMatch = { issuer: 'https://issuer.test', subject: `robot ${by % 3}` }
  switch (step.kind) {
    case 'group':
      return { name, description }
    case 'identity':
      return { name, description, claimMatch }
    case 'role': {
      const names = capabilities.map((capability) =>
        isV1 ? capability.toLowerCase().replace('_', '.') : `CAP_IAM_${capability}`,
      )
      return { name, description, capabilities: names }
    }
    case 'binding': {
      const identity = pick(twin.made.identity, by) ?? nobody
      const role = pick([builtInRole('viewer').uid, ...twin.made.role], at) ?? ''
      return isV1 ? { identity, role } : { identityUid: identity, roleUid: role }
    }
  }
}

function requestOf(twin: Twin, step: Step, isV1: boolean): { method: DescMethod; request: JsonObject } {
  const { kind, verb, at } = step
  const method = methods[kind][isV1 ? 'v1' : 'v2'][isV1 ? verb : verb + nouns[kind]] as DescMethod
  const resource = resourceOf(twin, step, isV1)
  if (verb === 'create') {
    const parent = pick(possibleParentsOf(twin), at) ?? ''
    const hasParentId = isV1 && (kind === 'role' || kind === 'identity')
    return { method, request: { [hasParentId ? 'parentId' : 'parent']: parent, [fields[kind]]: resource } }
  }
  const uid = targetOf(twin, step)
  if (verb === 'delete') return { method, request: { [isV1 ? 'id' : 'uid']: uid } }
  const request = isV1 ? { id: uid, ...resource } : { [fields[kind]]: { uid, ...resource }, updateMask: '*' }
  return { method, request }
}

onEachStore('v1 and v2', (engine) => {
  let platform: Platform
  let doors: Door[] = []
  before(async () => {
    platform = await startPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function newTwin(): Promise<Twin> {
    const { organization, token } = await platform.addOrganization('twin')
    return { organization, token, made: { group: [], role: [], identity: [], binding: [] } }
  }

  async function runStep(twin: Twin, step: Step, isV1: boolean): Promise<number> {
    const { method, request } = requestOf(twin, step, isV1)
    const { body, error }: CallResult = await (doors[step.door] as Door).call(method, request, twin.token)
    if (body && step.verb === 'create') twin.made[step.kind].push((body.uid ?? body.id) as string)
    assert.notEqual(error?.code, internal)
    return error?.code ?? 0
  }

  async function succeed(method: DescMethod | undefined, request: JsonObject, token: string) {
    const [door] = doors as [Door]
    const { body, error } = await door.call(method as DescMethod, request, token)
    assert.ok(body, error?.message)
    return body
  }

  /** Lists in small pages, so that most lists have several pages. */
  async function listV2({ organization, token }: Twin, kind: Kind): Promise<JsonObject[]> {
    const all: JsonObject[] = []
    for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
      const request = { uidp: { descendantsOf: organization }, pageSize: 3, pageToken }
      const body = await succeed(methods[kind].v2[`list${nouns[kind]}s`.replace('ys', 'ies')], request, token)
      all.push(...(body[collections[kind]] as JsonObject[]))
      pageToken = body.nextPageToken as string | undefined
    }
    return all
  }

  const listV1 = async ({ organization, token }: Twin, kind: Kind, filter?: JsonObject) => {
    const body = await succeed(
      methods[kind].v1.list,
      filter ?? { uidp: { descendantsOf: organization } },
      token,
    )
    return body.items as JsonObject[]
  }

  /**
   * The resources that the test created, as text that is equal for equal twins: without times, and
   * with numbers in order of creation in place of uids.
   */
  function normalize(twin: Twin, resources: JsonObject[]): string[] {
    const uids = Object.values(twin.made).flat()
    const names = uids.map((uid, at): [string, string] => [uid, `#${at}`])
    const byLength = [...names, [twin.organization, 'here'] as const].sort(([a], [b]) => b.length - a.length)
    const textOf = (resource: JsonObject) => {
      const text = JSON.stringify(resource, (key, value) => (/Time$/.test(key) ? undefined : value))
      return byLength.reduce((replaced, [uid, name]) => replaced.replaceAll(`"${uid}"`, `"${name}"`), text)
    }
    return resources
      .filter(({ uid }) => uids.includes(uid as string))
      .map(textOf)
      .sort()
  }

  /** Returns the resources of this organization, and asserts that v1 and v2 show the same ones. */
  async function listInBoth(twin: Twin, kind: Kind): Promise<JsonObject[]> {
    const resources = await listV2(twin, kind)
    const inV2 = resources.map(sharedFieldsInV2[kind])
    const inV1 = (await listV1(twin, kind)).map(sharedFieldsInV1[kind])
    assert.deepEqual(inV1, inV2, kind)
    for (const resource of inV2.slice(-1)) {
      const found = await listV1(twin, kind, { id: resource[0] as string })
      assert.deepEqual(found.map(sharedFieldsInV1[kind]), [resource])
    }
    return resources
  }

  test('leave equal states, whichever version a call uses', async () => {
    const property = fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
      const [first, second] = [await newTwin(), await newTwin()]
      for (const step of steps) {
        const codes = [await runStep(first, step, step.isV1), await runStep(second, step, !step.isV1)]
        assert.equal(codes[0], codes[1], JSON.stringify(step))
      }
      for (const kind of kinds)
        assert.deepEqual(
          normalize(first, await listInBoth(first, kind)),
          normalize(second, await listInBoth(second, kind)),
        )
    })
    // v1 and v2 differ above the store, so most runs are on the store that takes less time.
    await fc.assert(property, { numRuns: engine === 'sqlite' ? 15 : 5 })
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  })
})

type FieldValues = (resource: JsonObject) => unknown[]
const objectOf = (value: unknown) => (value ?? {}) as JsonObject
const dottedNames = (names: unknown) =>
  ((names ?? []) as string[]).map((name) => name.replace('CAP_IAM_', '').toLowerCase().replace('_', '.'))

/** The fields of a v2 resource that v1 has too, in the same order and spelling as in `sharedFieldsInV1`. */
const sharedFieldsInV2: Record<Kind, FieldValues> = {
  group: ({ uid, name, description, verified }) => [uid, name, description, verified],
  role: ({ uid, name, description, capabilities }) => [uid, name, description, dottedNames(capabilities)],
  identity({ uid, name, description, claimMatch, createTime, updateTime }) {
    const { issuer, subject } = objectOf(claimMatch)
    return [uid, name, description, issuer, subject, createTime, updateTime]
  },
  binding({ uid, identity, group, role, createTime }) {
    const { issuer, subject } = objectOf(identity)
    const uids = [objectOf(identity).uid, objectOf(group).uid, objectOf(role).uid]
    return [uid, ...uids, objectOf(group).name, objectOf(role).name, issuer, subject, createTime]
  },
}

const sharedFieldsInV1: Record<Kind, FieldValues> = {
  group: ({ id, name, description, verified }) => [id, name, description, verified],
  role: ({ id, name, description, capabilities }) => [id, name, description, capabilities],
  identity({ id, name, description, claimMatch, createdAt, updatedAt }) {
    const { issuer, subject } = objectOf(claimMatch)
    return [id, name, description, issuer, subject, createdAt, updatedAt]
  },
  binding({ id, identity, group, role, claimMatchIssuer, claimMatchSubject, createdAt }) {
    const uids = [identity, objectOf(group).id, objectOf(role).id]
    const names = [objectOf(group).name, objectOf(role).name]
    return [id, ...uids, ...names, claimMatchIssuer, claimMatchSubject, createdAt]
  },
}
