// A random world for property tests: organizations, their identities, roles, bindings and other resources. fast-check
// draws a plan of numbers, which it can shrink; `buildWorld` turns the plan into uids, and `writeWorld` writes the
// resources directly into the store.
import { createHash, randomBytes } from 'node:crypto'
import type { DescMessage, Message } from '@bufbuild/protobuf'
import { create, fromJson } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { ExternalGroupRoleMappingSchema } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { exampleOf } from '@stemma/api/reference/examples.ts'
import fc from 'fast-check'
import { builtInRoles } from '../../server/policy/built-in-roles.ts'
import { capabilityNamed } from '../../server/policy/capabilities.ts'
import { resources } from '../../server/resource-list.ts'
import { accountAssociations } from '../../server/resources/iam/account-associations/table.ts'
import { externalGroupRoleMappings } from '../../server/resources/iam/external-group-role-mappings/table.ts'
import { groupAccessRequests } from '../../server/resources/iam/group-access-requests/table.ts'
import { groupInvites } from '../../server/resources/iam/group-invites/table.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { identityProviders } from '../../server/resources/iam/identity-providers/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { roles } from '../../server/resources/iam/roles/table.ts'
import type { ExtraColumns } from '../../server/resources/kind.ts'
import { repos } from '../../server/resources/registry/repos/table.ts'
import { tags } from '../../server/resources/registry/tags/table.ts'
import { searchColumnsOf } from '../../server/resources/vulnerabilities/advisories/search-columns.ts'
import { advisories } from '../../server/resources/vulnerabilities/advisories/table.ts'
import { newAdvisoryId } from '../../server/resources/vulnerabilities/advisory-id.ts'
import type { Store } from '../../server/store/db.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { updateSuspended } from '../../server/store/suspensions.ts'
import type { Work } from '../../server/store/work.ts'
import { createMany } from '../../server/testing/create-many.ts'

export type Role = { uid: string; capabilities: ReadonlySet<string> }

export type World = {
  groups: string[]
  /** The built-in roles come first. */
  roles: Role[]
  /** People are in no group. */
  users: string[]
  workloads: string[]
  /** `expireTime` is in milliseconds since 1970; most bindings do not expire. */
  bindings: { uid: string; identity: string; role: Role; group: string; expireTime?: number }[]
  providers: { uid: string; role: string }[]
  /** Each has an external group and a role binding, which is also one of `bindings`. */
  mappings: { uid: string; externalGroup: string; binding: string }[]
  /** Memberships in the external groups of `mappings`. */
  members?: readonly { mapping: string; externalGroup: string; identity: string; expireTime: number }[]
  /** People whom an identity provider has deactivated: their bindings at and below its group do not count. */
  suspensions?: readonly { identity: string; provider: string }[]
  /** Account associations have the uids of their groups. */
  associations: string[]
  invites: { uid: string; role: string }[]
  accessRequests: { uid: string; user: string }[]
  repos: string[]
  publicRepos?: ReadonlySet<string>
  /** Tags are in repos. */
  tags: string[]
  advisories: string[]
  /** The uids of the resources of each kind in `plainResources`, by the name of its table. */
  plain: Record<string, string[]>
}

/** Kinds that have their own field in `World`. */
const particularKinds: readonly { table: { name: string } }[] = [
  ...[groups, identities, roles, roleBindings, identityProviders, accountAssociations],
  ...[groupInvites, groupAccessRequests, repos, tags, advisories, externalGroupRoleMappings],
]

/** All other resources: they are in groups and refer to nothing else, so they are created from their examples. */
export const plainResources = resources.filter(
  ({ kind }) => !particularKinds.some(({ table }) => table.name === kind.table.name),
)

/** An index that is reduced modulo the length of the list it selects from. */
export const anyIndex = fc.nat({ max: 9999 })

/** True once in `n` draws on average. */
export const oneIn = (n: number) => fc.nat({ max: n - 1 }).map((number) => number === 0)

export const pick = <T>(from: readonly T[], at: number): T | undefined => from[at % from.length]

/** Written out by hand, so that the test does not depend on the code it tests. */
export const isWithin = (uid: string, ancestor: string) => uid === ancestor || uid.startsWith(`${ancestor}/`)

export const organizationOf = (uid: string) => uid.split('/')[0] ?? ''

export const parentOf = (uid: string) => uid.split('/').slice(0, -1).join('/')

export const anyBinding = (hasBuiltInRole: fc.Arbitrary<boolean>) =>
  fc.record({ identity: anyIndex, group: anyIndex, role: anyIndex, hasBuiltInRole })

/** Plans of worlds whose custom roles consist of these `capabilities`. */
export const anyPlan = (capabilities: readonly string[]) =>
  fc.record({
    salt: fc.nat(),
    groups: fc.array(fc.record({ isBelowLast: oneIn(3), parent: anyIndex }), {
      minLength: 2,
      maxLength: 24,
      size: 'max',
    }),
    roles: fc.array(
      fc.record({ group: anyIndex, isAtTop: fc.boolean(), capabilities: anyCapabilities(capabilities) }),
      { minLength: 1, maxLength: 16, size: 'max' },
    ),
    // Few, so that each has several roles in several groups.
    users: fc.integer({ min: 1, max: 3 }),
    workloads: fc.array(anyIndex, { minLength: 1, maxLength: 8, size: 'max' }),
    bindings: fc.array(anyBinding(oneIn(4)), {
      maxLength: 60,
      size: 'max',
    }),
    providers: fc.array(fc.record({ group: anyIndex, role: anyIndex }), { maxLength: 10, size: 'max' }),
    mappings: fc.array(fc.record({ provider: anyIndex, role: anyIndex }), { maxLength: 8, size: 'max' }),
    associations: fc.array(anyIndex, { maxLength: 12, size: 'max' }),
    invites: fc.array(fc.record({ group: anyIndex, role: anyIndex }), { maxLength: 10, size: 'max' }),
    accessRequests: fc.array(fc.record({ group: anyIndex, user: anyIndex }), { maxLength: 10, size: 'max' }),
    repos: fc.array(anyIndex, { maxLength: 10, size: 'max' }),
    tags: fc.array(anyIndex, { maxLength: 15, size: 'max' }),
    advisories: fc.array(anyIndex, { maxLength: 12, size: 'max' }),
    plain: fc.array(fc.record({ resource: anyIndex, group: anyIndex }), {
      maxLength: 10 * plainResources.length,
      size: 'max',
    }),
  })

export type Drawn<A> = A extends fc.Arbitrary<infer Value> ? Value : never

export type Plan = Drawn<ReturnType<typeof anyPlan>>

/** Few capabilities, so that many callers can grant the role, or many, so that its holders can grant other roles. */
const anyCapabilities = (among: readonly string[]) =>
  fc.oneof(
    fc.subarray([...among], { minLength: 1, maxLength: 3 }),
    fc.subarray([...among], { minLength: Math.ceil(among.length / 3) }),
  )

const maxDepth = 5

export function buildWorld(plan: Plan): World {
  const { newRoot, newChild } = uidGenerator(plan.salt)
  const groupUids: string[] = []
  for (const [at, { isBelowLast, parent }] of plan.groups.entries()) {
    // The first two groups are organizations, so that access across organizations is always tested.
    const parentUid =
      at < 2 ? undefined : isBelowLast ? groupUids.at(-1) : pick([...groupUids, undefined], parent)
    const isTooDeep = parentUid !== undefined && parentUid.split('/').length >= maxDepth
    groupUids.push(
      parentUid === undefined ? newRoot() : newChild(isTooDeep ? parentOf(parentUid) : parentUid),
    )
  }
  const groupAt = (at: number) => pick(groupUids, at) ?? ''
  const builtIns = builtInRoles.map(({ uid, capabilities }) => ({ uid, capabilities: new Set(capabilities) }))
  const customRoles = plan.roles.map(({ group, isAtTop, capabilities }) => ({
    uid: newChild(isAtTop ? organizationOf(groupAt(group)) : groupAt(group)),
    capabilities: new Set(capabilities),
  }))
  /** The custom roles that can be bound in a group: those of the group and of the groups above it. */
  const bindableIn = (group: string) => customRoles.filter(({ uid }) => isWithin(group, parentOf(uid)))
  const withRole = ({ group, role }: { group: number; role: number }) => ({
    uid: newChild(groupAt(group)),
    role: pick([...bindableIn(groupAt(group)), ...builtIns], role)?.uid ?? '',
  })
  const users = Array.from({ length: plan.users }, newRoot)
  const workloads = plan.workloads.map((group) => newChild(groupAt(group)))
  const bindings = plan.bindings.flatMap(({ identity, group, role, hasBuiltInRole }) => {
    const groupUid = groupAt(group)
    const boundRole = pick(hasBuiltInRole ? builtIns : bindableIn(groupUid), role)
    const holder = pick([...users, ...workloads], identity) ?? ''
    return boundRole ? [{ uid: newChild(groupUid), identity: holder, role: boundRole, group: groupUid }] : []
  })
  const accessRequests = plan.accessRequests.map(({ group, user }) => ({
    uid: newChild(groupAt(group)),
    user: pick(users, user) ?? '',
  }))
  const repoUids = plan.repos.map((group) => newChild(groupAt(group)))
  const providers = plan.providers.map(withRole)
  const mapped = plan.mappings.flatMap(({ provider, role }) => {
    const { uid } = pick(providers, provider) ?? {}
    const boundRole = pick(builtIns, role)
    if (uid === undefined || !boundRole) return []
    const [group, externalGroup] = [parentOf(uid), newRoot()]
    const binding = { uid: newChild(group), identity: externalGroup, role: boundRole, group }
    return [{ binding, mapping: { uid: newChild(uid), externalGroup, binding: binding.uid } }]
  })
  return {
    ...{ groups: groupUids, roles: [...builtIns, ...customRoles], users, workloads, providers },
    bindings: [
      ...distinct(bindings, ({ identity, role, group }) => `${identity} ${role.uid} ${group}`),
      ...mapped.map(({ binding }) => binding),
    ],
    mappings: mapped.map(({ mapping }) => mapping),
    associations: [...new Set(plan.associations.map(groupAt))],
    invites: plan.invites.map(withRole),
    accessRequests: distinct(accessRequests, ({ uid, user }) => `${user} ${parentOf(uid)}`),
    repos: repoUids,
    tags: repoUids.length === 0 ? [] : plan.tags.map((repo) => newChild(pick(repoUids, repo) ?? '')),
    advisories: plan.advisories.map((group) => newChild(groupAt(group))),
    plain: Object.fromEntries(
      plainResources.map(({ kind }, at) => [
        kind.table.name,
        plan.plain
          .filter(({ resource }) => resource % plainResources.length === at)
          .map(({ group }) => newChild(groupAt(group))),
      ]),
    ),
  }
}

/** Generates uids that look random and depend only on the salt. */
export function uidGenerator(salt: number) {
  let count = 0
  const next = (length: number) =>
    createHash('sha256').update(`${salt} ${count++}`).digest('hex').slice(0, length)
  return { newRoot: () => next(40), newChild: (parent: string) => `${parent}/${next(16)}` }
}

function distinct<T>(items: T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}

/** The names of groups, repos and tags, by their index in the lists of the world. */
export const groupName = (at: number) => `group-${at}`
export const repoName = (at: number) => `repo-${at}`
export const tagName = (at: number) => `tag-${at}`

/** Writes a world into the store, with create times whose order differs from that of the uids. */
export function writeWorld(store: Store, world: World): Promise<void> {
  return store.write(function* () {
    let count = 0
    const facts = (uid: string) => ({ uid, now: Date.now() - 1000 - (count++ % 5) })
    yield* writeTree(world, facts)
    yield* writeBindings(world, facts)
    yield* writeMemberships(world)
    yield* writeRequests(world, facts)
    yield* writeContent(world, facts)
  })
}

type FactsOf = (uid: string) => { uid: string; now: number }

/** Groups, custom roles and identities. */
function* writeTree(world: World, facts: FactsOf): Work<void> {
  yield* createMany(
    groups,
    world.groups.map((uid, at) => [create(GroupSchema, { name: groupName(at) }), facts(uid)]),
  )
  yield* createMany(
    roles,
    world.roles
      .filter(({ uid }) => parentOf(uid) !== '')
      .map((role, at) => [customRole(role, `role-${at}`), facts(role.uid)]),
  )
  yield* createMany(
    identities,
    [...world.users, ...world.workloads].map((uid) => [robot(uid), facts(uid)]),
  )
}

/** Role bindings, identity providers, and the mappings of external groups. */
function* writeBindings(world: World, facts: FactsOf): Work<void> {
  yield* createMany(
    identities,
    world.mappings.map(({ externalGroup }) => [
      create(IdentitySchema, { name: 'external group' }),
      facts(externalGroup),
    ]),
  )
  yield* createMany(
    roleBindings,
    world.bindings.map(({ uid, identity, role, expireTime }) => [
      create(RoleBindingSchema, {
        ...(expireTime !== undefined && { expireTime: timestampFromMs(expireTime) }),
        ...sourceOf(world.mappings.find(({ binding }) => binding === uid)),
      }),
      { ...facts(uid), columns: { identity, role: role.uid } },
    ]),
  )
  yield* createMany(
    identityProviders,
    world.providers.map(({ uid, role }) => [
      provider(role),
      { ...facts(uid), columns: { client_secret: '' } },
    ]),
  )
  yield* createMany(
    externalGroupRoleMappings,
    world.mappings.map(({ uid, externalGroup, binding }) => [
      create(ExternalGroupRoleMappingSchema, { externalGroupId }),
      { ...facts(uid), columns: { external_group: externalGroup, binding } },
    ]),
  )
}

function* writeMemberships(world: World): Work<void> {
  for (const { mapping, externalGroup, identity, expireTime } of world.members ?? []) {
    yield sql`insert into external_group_members (identity, external_group, source, provider, expire_time)
      values (${identity}, ${externalGroup}, ${'scim'}, ${parentOf(mapping)}, ${expireTime})`
    yield sql`update identities set external_until = ${expireTime}
      where uid = ${identity} and (external_until is null or external_until < ${expireTime})`
  }
  for (const { identity, provider } of world.suspensions ?? []) {
    yield sql`insert into provider_sign_outs (identity, provider, second, disabled_second, place)
      values (${identity}, ${provider}, 0, 0, ${parentOf(provider)})`
    yield* updateSuspended(identity)
  }
}

/** Account associations, invites and access requests. */
function* writeRequests(world: World, facts: FactsOf): Work<void> {
  const inAnHour = Date.now() + 3_600_000
  yield* createMany(
    accountAssociations,
    world.associations.map((uid) => [association(), facts(uid)]),
  )
  yield* createMany(
    groupInvites,
    world.invites.map(({ uid, role }) => [
      create(GroupInviteSchema, {
        roleUid: role,
        keyId: uid,
        expirationTime: timestampFromMs(inAnHour),
      }),
      { ...facts(uid), columns: { digest: '', creator: '' } },
    ]),
  )
  yield* createMany(
    groupAccessRequests,
    world.accessRequests.map(({ uid, user }) => [
      create(GroupAccessRequestSchema),
      { ...facts(uid), columns: { identity: user } },
    ]),
  )
}

/** Repos, tags, advisories and the resources without columns of their own. */
function* writeContent(world: World, facts: FactsOf): Work<void> {
  yield* createMany(
    repos,
    world.repos.map((uid, at) => [
      create(RepoSchema, { name: repoName(at), public: world.publicRepos?.has(uid) ?? false }),
      {
        ...facts(uid),
        columns: { readme: '', retention_time: 0, public_since: world.publicRepos?.has(uid) ? 1 : 0 },
      },
    ]),
  )
  yield* createMany(
    tags,
    world.tags.map((uid, at) => [
      create(TagSchema, { name: tagName(at), digest: `sha256:${'0'.repeat(64)}` }),
      { ...facts(uid), columns: { push_time: 0 } },
    ]),
  )
  yield* createMany(
    advisories,
    world.advisories.map((uid) => {
      const advisory = newAdvisory(uid)
      return [advisory, { ...facts(uid), columns: searchColumnsOf(advisory, '').columns }]
    }),
  )
  for (const { kind } of plainResources)
    yield* createMany(
      kind,
      (world.plain[kind.table.name] ?? []).map((uid, at) => [
        exampleMessage(kind.desc, at),
        { ...facts(uid), columns: emptyColumnsOf(kind.extraColumns) },
      ]),
    )
}

const externalGroupId = 'developers'

/** The binding of a mapping names the mapping, and the server refuses to change such a binding directly. */
const sourceOf = (mapping: World['mappings'][number] | undefined) =>
  mapping && {
    externalGroup: { mappingUid: mapping.uid, identityProviderUid: parentOf(mapping.uid), externalGroupId },
  }

const emptyColumnsOf = (extraColumns: ExtraColumns) =>
  Object.fromEntries(Object.entries(extraColumns).map(([name, type]) => [name, type === 'text' ? '' : 0]))

/** The example of the reference, under another name each time. */
function exampleMessage(desc: DescMessage, at: number): Message {
  const example = exampleOf(desc, 'create')
  return fromJson(desc, 'name' in example ? { ...example, name: `${example.name}-${at}` } : example)
}

function customRole({ capabilities }: Role, name: string) {
  const numbers = [...capabilities].flatMap((capability) => capabilityNamed(capability)?.number ?? [])
  return create(RoleSchema, { name, capabilities: numbers.sort((a, b) => a - b) })
}

const association = () =>
  create(AccountAssociationSchema, { name: 'accounts', amazon: { account: '123456789012' } })

const newAdvisory = (uid: string) =>
  create(AdvisorySchema, {
    ...{ uid, advisoryId: newAdvisoryId(randomBytes) },
    ...{ author: 'ada', artifactName: 'nginx', artifactType: 'apk' },
  })

const robot = (uid: string) =>
  create(IdentitySchema, {
    name: 'robot',
    relationship: {
      case: 'claimMatch',
      value: {
        iss: { case: 'issuer', value: 'https://issuer.test' },
        sub: { case: 'subject', value: uid },
      },
    },
  })

const provider = (defaultRole: string) =>
  create(IdentityProviderSchema, {
    name: 'sso',
    defaultRole,
    configuration: {
      case: 'oidc',
      value: { issuer: 'https://sso.test', clientId: 'stemma', pkceEnabled: true },
    },
  })

/** Operands of `delete from`, in an order that deletes references before the rows they refer to. */
const rowsToDelete = [
  'external_group_members',
  'provider_sign_outs',
  ...plainResources.map(({ kind }) => kind.table.name),
  ...['tags', 'uploads', 'manifests', 'repo_blobs', 'blobs', 'repos', 'advisories'],
  ...[
    'external_group_role_mappings',
    'role_bindings',
    'group_access_requests',
    'group_invites',
    'identity_providers',
  ],
  ...['account_associations', 'roles where parent is not null', 'identities', 'groups', 'tally'],
]

/** Deletes everything but built-in roles, so that the next world can use the same uids. */
export function clearWorld(store: Store): Promise<void> {
  return store.write(function* () {
    for (const rows of rowsToDelete) yield sql`delete from ${raw(rows)}`
  })
}
