// docs/specification.md, Roles and bindings: every list and every Get of a random world returns exactly the rows that
// the rules allow. The expected rows are computed here, one row at a time.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DescMethod, DescService, JsonObject } from '@bufbuild/protobuf'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Drawn, World } from './world.ts'
import { anyIndex, anyPlan, isWithin, oneIn, parentOf, pick, plainResources, uidGenerator } from './world.ts'
import type { WorldPlatform } from './world-platform.ts'
import { startWorldPlatform } from './world-platform.ts'

const ok = 0
const notFound = 5
const permissionDenied = 7

type Kind = { list: DescMethod; get: DescMethod; stream?: DescMethod; uids(world: World): string[] }

const uidsOf = (rows: { uid: string }[]) => rows.map(({ uid }) => uid)

const kinds: Kind[] = [
  {
    list: GroupsService.method.listGroups,
    get: GroupsService.method.getGroup,
    uids: (world) => world.groups,
  },
  {
    list: IdentitiesService.method.listIdentities,
    get: IdentitiesService.method.getIdentity,
    uids: ({ users, workloads }) => [...users, ...workloads],
  },
  {
    list: RolesService.method.listRoles,
    get: RolesService.method.getRole,
    uids: ({ roles }) => uidsOf(roles),
  },
  {
    list: RoleBindingsService.method.listRoleBindings,
    get: RoleBindingsService.method.getRoleBinding,
    uids: ({ bindings }) => uidsOf(bindings),
  },
  {
    list: IdentityProvidersService.method.listIdentityProviders,
    get: IdentityProvidersService.method.getIdentityProvider,
    uids: ({ providers }) => uidsOf(providers),
  },
  {
    list: ExternalGroupRoleMappingsService.method.listExternalGroupRoleMappings,
    get: ExternalGroupRoleMappingsService.method.getExternalGroupRoleMapping,
    uids: ({ mappings }) => uidsOf(mappings),
  },
  {
    list: AccountAssociationsService.method.listAccountAssociations,
    get: AccountAssociationsService.method.getAccountAssociation,
    uids: ({ associations }) => associations,
  },
  {
    list: GroupInvitesService.method.listGroupInvites,
    get: GroupInvitesService.method.getGroupInvite,
    uids: ({ invites }) => uidsOf(invites),
  },
  {
    list: GroupAccessRequestsService.method.listGroupAccessRequests,
    get: GroupAccessRequestsService.method.getGroupAccessRequest,
    uids: ({ accessRequests }) => uidsOf(accessRequests),
  },
  { list: ReposService.method.listRepos, get: ReposService.method.getRepo, uids: ({ repos }) => repos },
  { list: TagsService.method.listTags, get: TagsService.method.getTag, uids: ({ tags }) => tags },
  {
    list: AdvisoriesService.method.listAdvisories,
    get: AdvisoriesService.method.getAdvisory,
    stream: AdvisoriesService.method.exportAdvisoriesOpenVex,
    uids: ({ advisories }) => advisories,
  },
  ...plainResources.map(({ kind, service }) => ({
    list: standardMethodOf(service, 'List'),
    get: standardMethodOf(service, 'Get'),
    uids: ({ plain }: World) => plain[kind.table.name] ?? [],
  })),
]

function standardMethodOf(service: DescService, verb: 'List' | 'Get'): DescMethod {
  const method = service.methods.find(({ name }) => name.startsWith(verb))
  if (!method) throw new Error(`${service.name} has no ${verb}`)
  return method
}

function capabilitiesOf(method: DescMethod): string[] {
  return (describeMethod(method).access?.capabilities ?? []).map((number) => nameOf(number))
}

const demands = new Map(
  kinds.flatMap(({ list, get }) => [list, get]).map((method) => [method, capabilitiesOf(method)]),
)

/** Capabilities of custom roles: those that lists require, and some that must not make anything visible. */
const capabilities = [
  ...new Set(kinds.flatMap(({ list }) => capabilitiesOf(list))),
  ...['groups.create', 'roles.update', 'repo.update'],
]

type Filter = {
  ancestorsOf?: string
  descendantsOf?: string
  childrenOf?: string
  inRoot?: boolean
  ids?: string[]
}

// The rules of the specification.

function hasCapability({ bindings }: World, caller: string, capability: string, uid: string): boolean {
  return bindings.some(
    ({ identity, role, group }) =>
      identity === caller && role.capabilities.has(capability) && isWithin(uid, group),
  )
}

const mayCall = (world: World, caller: string, method: DescMethod, uid: string) =>
  demands.get(method)?.every((capability) => hasCapability(world, caller, capability, uid)) ?? false

const mayCallAnywhere = (world: World, caller: string, method: DescMethod) =>
  world.groups.some((group) => mayCall(world, caller, method, group))

/** Built-in roles are visible to callers who may list roles anywhere. A person is visible only to themselves. */
function isVisible(world: World, caller: string, method: DescMethod, uid: string): boolean {
  const isAtRoot = parentOf(uid) === ''
  if (isAtRoot && method.parent === RolesService) return mayCallAnywhere(world, caller, method)
  if (isAtRoot && method.parent === IdentitiesService && uid === caller) return true
  return mayCall(world, caller, method, uid)
}

function matchesFilter(
  uid: string,
  { ancestorsOf, descendantsOf, childrenOf, inRoot, ids }: Filter,
): boolean {
  if (ancestorsOf !== undefined && !(isWithin(ancestorsOf, uid) && uid !== ancestorsOf)) return false
  if (descendantsOf !== undefined && !(isWithin(uid, descendantsOf) && uid !== descendantsOf)) return false
  if (childrenOf !== undefined && parentOf(uid) !== childrenOf) return false
  if (inRoot && parentOf(uid) !== '') return false
  return ids === undefined || ids.includes(uid)
}

function expectedCode(world: World, caller: string, { get, uids }: Kind, uid: string): number {
  if (!isVisible(world, caller, get, uid)) return permissionDenied
  return uids(world).includes(uid) ? ok : notFound
}

// Random calls.

const anyFilter = fc.oneof(
  fc.constant({}),
  fc.record({ descendantsOf: anyIndex }),
  fc.record({ childrenOf: anyIndex }),
  fc.record({ ancestorsOf: anyIndex }),
  fc.constant({ inRoot: true }),
  fc.record({ ids: fc.array(anyIndex, { minLength: 1, maxLength: 20, size: 'max' }) }),
  fc.record({
    descendantsOf: anyIndex,
    ids: fc.array(anyIndex, { minLength: 1, maxLength: 40, size: 'max' }),
  }),
  fc.record({ descendantsOf: anyIndex, childrenOf: anyIndex }),
) as fc.Arbitrary<DrawnFilter>

type DrawnFilter = {
  [Field in keyof Filter]: Filter[Field] extends boolean | undefined ? boolean : number | number[]
}

/** One list and some Gets of a kind. */
const anyCalls = fc.record({
  filter: anyFilter,
  pageSize: fc.integer({ min: 3, max: 20 }),
  orderBy: fc.constantFrom('', 'uid desc', 'create_time', 'create_time desc'),
  isOverGrpc: oneIn(4),
  /** For Gets: resources of the kind. */
  existing: fc.array(anyIndex, { minLength: 1, maxLength: 2 }),
  /** For Gets: any uids. */
  others: fc.array(anyIndex, { minLength: 1, maxLength: 2 }),
})

type DrawnCalls = Drawn<typeof anyCalls>
type Caller = { identity: string; token: string }

/** A caller with calls for each kind. */
const anyCaller = fc.record({ identity: anyIndex, callsByKind: fc.tuple(...kinds.map(() => anyCalls)) })

/** Uids for filters and Gets. Groups are in the list several times. Some uids do not exist. */
function targetsOf(world: World, salt: number): string[] {
  const { newRoot, newChild } = uidGenerator(-1 - salt)
  const invented = world.groups.flatMap((group) => [newChild(group), newChild(newChild(group))])
  return [
    ...[...world.groups, ...world.groups, ...world.groups],
    ...[...kinds.flatMap(({ uids }) => uids(world)), ...invented, newRoot(), newChild(newRoot())],
  ]
}

function filterOf(drawn: DrawnFilter, targets: string[]): Filter {
  const uidAt = (index: number) => pick(targets, index) ?? ''
  return Object.fromEntries(
    Object.entries(drawn).map(([field, value]) => {
      if (typeof value === 'boolean') return [field, value]
      return [field, Array.isArray(value) ? value.map(uidAt) : uidAt(value)]
    }),
  )
}

const codeOf = ({ error }: CallResult) => error?.code ?? ok

onEachStore('what callers see of a random tree', (engine) => {
  let setUp: WorldPlatform
  before(async () => {
    setUp = await startWorldPlatform(engine)
  })
  after(() => setUp.stop())

  /** Reads all pages. `faults` describes errors and pages of the wrong size. */
  async function listAll(door: Door, method: DescMethod, request: JsonObject, token: string) {
    const uids: string[] = []
    const totals = new Set<number>()
    const faults: string[] = []
    const [collection] = method.output.fields
    let pageToken = ''
    do {
      const { body, error } = await door.call(method, { ...request, pageToken }, token)
      if (!body) {
        faults.push(`failed with ${error?.code}: ${error?.message}`)
        break
      }
      const rows = (body[collection?.jsonName ?? ''] ?? []) as { uid: string }[]
      pageToken = (body.nextPageToken ?? '') as string
      uids.push(...uidsOf(rows))
      totals.add(Number(body.totalCount))
      if (pageToken !== '' && rows.length !== request.pageSize) faults.push(`a page has ${rows.length} rows`)
    } while (pageToken !== '')
    return { uids, totals, faults }
  }

  /** Reads the whole stream. `faults` describes the error, if there is one. */
  async function exportAll(door: Door, method: DescMethod, request: JsonObject, token: string) {
    const { body, error } = await door.call(method, request, token)
    const faults = body ? [] : [`failed with ${error?.code}: ${error?.message}`]
    const documents = (body?.documents ?? []) as { '@id': string }[]
    const uids = documents.map((document) => /advisories\/(.+):openvex$/.exec(document['@id'])?.[1] ?? '')
    return { uids, faults }
  }

  async function checkList(world: World, caller: Caller, kind: Kind, filter: Filter, calls: DrawnCalls) {
    const { identity, token } = caller
    const { pageSize, orderBy, isOverGrpc } = calls
    const door = isOverGrpc ? setUp.grpc : setUp.rest
    const request = { orderBy, ...(Object.keys(filter).length > 0 ? { uidp: filter } : {}) } as JsonObject
    const listed = await listAll(door, kind.list, { ...request, pageSize }, token)
    const { uids, totals, faults } = listed
    if (kind.stream) {
      const streamed = await exportAll(door, kind.stream, request, token)
      faults.push(...streamed.faults)
      if (uids.join() !== streamed.uids.join()) faults.push(`lists ${uids}, but exports ${streamed.uids}`)
    }
    const expected = kind
      .uids(world)
      .filter((uid) => isVisible(world, identity, kind.list, uid) && matchesFilter(uid, filter))
    for (const uid of uids) if (!expected.includes(uid)) faults.push(`shows ${uid}, which it must not`)
    for (const uid of expected) if (!uids.includes(uid)) faults.push(`does not show ${uid}`)
    if (new Set(uids).size < uids.length) faults.push('shows a uid twice')
    if (faults.length === 0 && (totals.size !== 1 || !totals.has(expected.length)))
      faults.push(`returns totals of ${[...totals]}, but there are ${expected.length}`)
    return faults.map(
      (fault) => `${kind.list.name} over ${door.name} by ${identity}, ${JSON.stringify(request)}: ${fault}`,
    )
  }

  async function checkGet(world: World, caller: Caller, kind: Kind, uid: string, isOverGrpc: boolean) {
    const { identity, token } = caller
    const door = isOverGrpc ? setUp.grpc : setUp.rest
    const answer = await door.call(kind.get, { uid }, token)
    const expected = expectedCode(world, identity, kind, uid)
    const call = `${kind.get.name} of ${uid} over ${door.name} by ${identity}`
    if (codeOf(answer) !== expected) return [`${call}: returns ${codeOf(answer)} and not ${expected}`]
    if (answer.body && answer.body.uid !== uid) return [`${call}: shows ${answer.body.uid}`]
    return []
  }

  test('lists and Gets return exactly what the rules allow', async () => {
    const property = fc.asyncProperty(
      anyPlan(capabilities),
      fc.array(anyCaller, { minLength: 1, maxLength: 3, size: 'max' }),
      async (plan, callers) => {
        const world = await setUp.load(plan)
        const targets = targetsOf(world, plan.salt)
        const checks = callers.map(async ({ identity: identityIndex, callsByKind }) => {
          const identity = pick([...world.users, ...world.workloads], identityIndex) ?? ''
          const caller = { identity, token: await setUp.platform.tokenOf(identity) }
          const faultsOfCaller: string[] = []
          // One kind at a time: the server verifies the token in the first calls and caches it for the others.
          for (const [at, calls] of callsByKind.entries()) {
            const kind = kinds[at] as Kind // the tuple has an element for each kind
            const existing = calls.existing.flatMap((index) => pick(kind.uids(world), index) ?? [])
            const others = calls.others.flatMap((index) => pick(targets, index) ?? [])
            const faultsOfKind = await Promise.all([
              checkList(world, caller, kind, filterOf(calls.filter, targets), calls),
              ...[...existing, ...others].map((uid) => checkGet(world, caller, kind, uid, calls.isOverGrpc)),
            ])
            faultsOfCaller.push(...faultsOfKind.flat())
          }
          return faultsOfCaller
        })
        const faults = (await Promise.all(checks)).flat()
        assert.equal(faults.length, 0, faults.join('\n'))
      },
    )
    // A run makes about 2 lists and 6 Gets of each kind. More callers of the same tree would test
    // little else: the tree and the filters decide which rules apply.
    // Unbiased, because fast-check otherwise prefers small values, and there are few runs.
    await fc.assert(property, { numRuns: 8, unbiased: true, endOnFailure: true })
  })
})
