// Property test against privilege escalation: after random writes by a caller with few capabilities, every capability
// that anyone has gained was held by the caller before.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { CapabilitySchema } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { Code } from '../../server/aip/code.ts'
import { StatusError } from '../../server/aip/errors.ts'
import { decodeBits } from '../../server/policy/bits.ts'
import {
  allCapabilities,
  capabilityNamed,
  capabilityOf,
  nameOfBit,
} from '../../server/policy/capabilities.ts'
import { signInAccess } from '../../server/policy/system-access.ts'
import { acceptInvite } from '../../server/resources/iam/group-invites/accept.ts'
import type { Store } from '../../server/store/db.ts'
import { join, raw, sql } from '../../server/store/sql.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Drawn } from '../iam/world.ts'
import {
  anyBinding,
  anyIndex,
  anyPlan,
  isWithin,
  oneIn,
  organizationOf,
  parentOf,
  pick,
} from '../iam/world.ts'
import type { WorldPlatform } from '../iam/world-platform.ts'
import { startWorldPlatform } from '../iam/world-platform.ts'

/** All capabilities of IAM, and some that none of the writes below requires. */
const capabilities = [
  ...allCapabilities.filter(({ number }) => CapabilitySchema.value[number]?.name.startsWith('CAP_IAM_')),
  ...['repo.list', 'repo.create', 'apk.list'].flatMap((name) => capabilityNamed(name) ?? []),
].map(({ name }) => name)

// The state: who holds which capabilities.

/** Capabilities with the group where they are held, as `bit@uid`. */
type Held = ReadonlySet<string>

const tables = [
  ...(['groups', 'roles', 'role_bindings', 'identities', 'identity_providers'] as const),
  ...(['account_associations', 'group_invites', 'group_access_requests'] as const),
  ...(['external_group_role_mappings'] as const),
]
type TableName = (typeof tables)[number]

type State = {
  /** The rows of all tables, oldest first. */
  rows: [table: TableName, createTime: string, uid: string][]
  roles: [uid: string, bits: string][]
  grants: [holder: string, place: string, role: string][]
  holders: [uid: string, json: string, secret: string][]
  externalGroups: [uid: string][]
}

type Snapshot = {
  /** The state as text, by which unchanged states are recognised. */
  text: string
  uids: Record<TableName, string[]>
  /** Identities that can accept invites: all but the external groups, which cannot sign in. */
  guests: string[]
  /** The capabilities of each role, by uid. */
  bits: Map<string, ReadonlySet<number>>
  /** By uid of the identity, invite or identity provider. */
  held: Map<string, Held>
  /** How each holder is recognised, by uid. If this changes, somebody else gets the capabilities of the holder. */
  recognition: Map<string, string>
  /**
   * Custom roles that are granted outside their own group, as `role in group`. Must be empty: callers who change a role
   * need its capabilities only in the group of the role.
   */
  misplaced: string[]
}

const nothing: Held = new Set()

/** Whether the capability is held at this uid or above it. */
const isCovered = (held: Held, bit: number, place: string) =>
  lineage(place).some((above) => held.has(`${bit}@${above}`))

const lineage = (uid: string): string[] => (uid === '' ? [] : [uid, ...lineage(parentOf(uid))])

/**
 * The rows from which a snapshot is computed. One statement reads all of them, because this happens after every write,
 * and each further statement is a round trip to PostgreSQL.
 */
const stateQuery = sql`${join(
  [
    ...tables.map(
      (table) => sql`select 'rows', ${raw(`'${table}'`)}, cast(create_time as text), uid from ${raw(table)}`,
    ),
    sql`select 'roles', uid, bits, '' from roles`,
    // Bindings grant roles to identities and external groups. Invites and providers grant roles to people who accept
    // or sign in later, and a provider decides who is a member of its external groups.
    sql`select 'grants', identity, parent, role from role_bindings`,
    sql`select 'grants', m.parent, b.parent, b.role from external_group_role_mappings m
      join role_bindings b on b.uid = m.binding`,
    sql`select 'grants', uid, parent, role from group_invites`,
    sql`select 'grants', uid, parent, default_role from identity_providers`,
    sql`select 'holders', uid, json, '' from identities`,
    sql`select 'holders', uid, json, '' from group_invites`,
    sql`select 'holders', uid, json, client_secret from identity_providers`,
    sql`select distinct 'externalGroups', external_group, '', '' from external_group_role_mappings`,
  ],
  ' union all ',
)} order by 1, 2, 3, 4`

/** The current snapshot: `before` itself if no row has changed since. */
async function readSnapshot(store: Store, before?: Snapshot): Promise<Snapshot> {
  const found = await store.query(stateQuery)
  const text = JSON.stringify(found)
  return text === before?.text ? before : snapshotOf(stateOf(found), text)
}

function stateOf(found: readonly (readonly unknown[])[]): State {
  const parts = Map.groupBy(found, ([part]) => part)
  const part = (name: keyof State) => (parts.get(name) ?? []).map(([, ...values]) => values)
  const rows = part('rows') as [TableName, string, string][]
  return {
    rows: rows.sort(([, a], [, b]) => Number(a) - Number(b)),
    roles: part('roles'),
    grants: part('grants'),
    holders: part('holders'),
    externalGroups: part('externalGroups'),
  } as State
}

function snapshotOf({ rows, roles, grants, holders, externalGroups }: State, text: string): Snapshot {
  const uidsIn = (table: TableName) => rows.filter(([name]) => name === table).map(([, , uid]) => uid)
  const uids = Object.fromEntries(tables.map((table) => [table, uidsIn(table)])) as Snapshot['uids']
  const bits = new Map(roles.map(([uid, encoded]) => [uid, decodeBits(encoded)]))
  const held = new Map<string, Set<string>>()
  const misplaced: string[] = []
  for (const [holder, place, role] of grants) {
    const set = held.get(holder) ?? new Set()
    for (const bit of bits.get(role) ?? []) set.add(`${bit}@${place}`)
    held.set(holder, set)
    if (parentOf(role) !== '' && !isWithin(place, parentOf(role))) misplaced.push(`${role} in ${place}`)
  }
  const recognition = new Map(holders.map(([uid, ...row]) => [uid, recognitionOf(...row)]))
  const groupUids = new Set(externalGroups.map(([uid]) => uid))
  const guests = uids.identities.filter((uid) => !groupUids.has(uid))
  return { text, uids, guests, bits, held, recognition, misplaced }
}

function recognitionOf(json: string, secret: string): string {
  const { claimMatch, staticKeys, awsIdentity, servicePrincipal, oidc, email, singleUse, expirationTime } =
    JSON.parse(json)
  const recognised = { claimMatch, staticKeys, awsIdentity, servicePrincipal, oidc }
  return JSON.stringify({ ...recognised, email, singleUse, expirationTime, secret })
}

type Gain = { holder: string; bit: number; place: string }

function gainsOf(before: Snapshot, after: Snapshot): Gain[] {
  return [...after.held].flatMap(([holder, heldAfter]) => {
    const isSameHolder = before.recognition.get(holder) === after.recognition.get(holder)
    const heldBefore = before.held.get(holder) ?? nothing
    const kept = isSameHolder
      ? heldBefore
      : new Set([...heldBefore].filter((pair) => !isInOwnOrganization(holder, pair)))
    const added = [...heldAfter].filter((pair) => !kept.has(pair))
    return added
      .map((pair) => pair.split('@') as [string, string])
      .map(([bit, place]) => ({ holder, bit: Number(bit), place }))
      .filter(({ bit, place }) => !isCovered(kept, bit, place))
  })
}

/**
 * If a write changed how a holder is recognised, only its capabilities in its own organization count as gained. Other
 * organizations that bind it trust the administrators of its organization, who may change how it is recognised.
 */
const isInOwnOrganization = (holder: string, pair: string) =>
  isWithin(pair.slice(pair.indexOf('@') + 1), organizationOf(holder))

// The writes.

const anyWrite = fc.record({
  write: anyIndex,
  target: anyIndex,
  role: anyIndex,
  somebody: anyIndex,
  capabilities: fc.subarray(capabilities, { minLength: 1, maxLength: 4 }),
  /** Whether to prefer resources on which the caller may call the method. */
  prefersPermitted: oneIn(8).map((ignoresPermission) => !ignoresPermission),
  /** Whether to prefer roles and capabilities that the caller holds. */
  prefersHeld: fc.boolean(),
  /** Whether the identity in the request is the caller. */
  isForSelf: fc.boolean(),
  /** Which fields the request contains. The meaning of the number depends on the method. */
  variant: fc.nat({ max: 2 }),
  /** Whether an update has the mask `*`. */
  hasFullMask: oneIn(5),
  isOverGrpc: oneIn(4),
})

type Draw = Drawn<typeof anyWrite>

type Choices = Pick<Draw, 'variant'> & {
  name: string
  target(table: TableName): string
  roleIn(place: string): string
  capabilitiesIn(place: string): string[]
  somebody(offset?: number): string
}

type Write = {
  method: DescMethod
  /** The request, without a mask. */
  request(choices: Choices): JsonObject
}

const guestAddress = 'guest@stemma.test'
const absent = '0'.repeat(40)

const oidc = (name: string) => ({ issuer: `https://${name}.test`, clientId: 'stemma', pkceEnabled: true })
const claimMatch = (name: string) => ({ issuer: 'https://caller.test', subject: name })

const writes: Write[] = [
  {
    method: RolesService.method.createRole,
    request({ name, target, capabilitiesIn }) {
      const parent = target('groups')
      return { parent, role: { name, capabilities: capabilitiesIn(parent) } }
    },
  },
  {
    method: RolesService.method.updateRole,
    request({ name, target, capabilitiesIn }) {
      const uid = target('roles')
      return { role: { uid, name, capabilities: capabilitiesIn(parentOf(uid)) } }
    },
  },
  {
    method: RolesService.method.deleteRole,
    request: ({ target }) => ({ uid: target('roles') }),
  },
  {
    method: RoleBindingsService.method.createRoleBinding,
    request({ target, roleIn, somebody }) {
      const parent = target('groups')
      return { parent, roleBinding: { identityUid: somebody(), roleUid: roleIn(parent) } }
    },
  },
  {
    method: RoleBindingsService.method.batchCreateRoleBindings,
    request({ target, roleIn, somebody, variant }) {
      const parent = target('groups')
      const roleUid = roleIn(parent)
      const bindings = [{ identityUid: somebody() }, { identityUid: somebody(1), roleUid }].slice(
        0,
        variant + 1,
      )
      return { parent, roleUid, requests: bindings.map((roleBinding) => ({ roleBinding })) }
    },
  },
  {
    method: RoleBindingsService.method.updateRoleBinding,
    request({ target, roleIn, somebody, variant }) {
      const uid = target('role_bindings')
      const role = variant === 0 ? {} : { roleUid: roleIn(parentOf(uid)) }
      const identity = variant === 1 ? {} : { identityUid: somebody() }
      return { roleBinding: { uid, ...role, ...identity } }
    },
  },
  {
    method: RoleBindingsService.method.deleteRoleBinding,
    request: ({ target }) => ({ uid: target('role_bindings') }),
  },
  {
    method: GroupInvitesService.method.createGroupInvite,
    request({ target, roleIn, variant }) {
      const parent = target('groups')
      const email = variant === 0 ? { email: guestAddress } : {}
      return {
        parent,
        groupInvite: { roleUid: roleIn(parent), ttl: '3600s', singleUse: variant === 1, ...email },
      }
    },
  },
  {
    method: GroupInvitesService.method.updateGroupInvite,
    request({ target, roleIn, variant }) {
      const uid = target('group_invites')
      const role = variant === 0 ? { roleUid: roleIn(parentOf(uid)) } : {}
      const change = variant === 1 ? { email: guestAddress } : { ttl: '7200s' }
      return { groupInvite: { uid, ...role, ...change } }
    },
  },
  {
    method: GroupInvitesService.method.deleteGroupInvite,
    request: ({ target }) => ({ uid: target('group_invites') }),
  },
  {
    method: IdentityProvidersService.method.createIdentityProvider,
    request({ name, target, roleIn }) {
      const parent = target('groups')
      return { parent, identityProvider: { name, defaultRole: roleIn(parent), oidc: oidc(name) } }
    },
  },
  {
    method: IdentityProvidersService.method.updateIdentityProvider,
    request({ name, target, roleIn, variant }) {
      const uid = target('identity_providers')
      const role = variant === 0 ? {} : { defaultRole: roleIn(parentOf(uid)) }
      const configuration = variant === 1 ? {} : { oidc: { issuer: `https://${name}.test` } }
      return { identityProvider: { uid, ...role, ...configuration } }
    },
  },
  {
    method: IdentityProvidersService.method.deleteIdentityProvider,
    request: ({ target }) => ({ uid: target('identity_providers') }),
  },
  {
    method: ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping,
    request({ target, roleIn, variant }) {
      const parent = target('identity_providers')
      const scope = variant === 0 ? target('groups') : parentOf(parent)
      const externalGroupId = `group ${variant}`
      return { parent, externalGroupRoleMapping: { externalGroupId, roleUid: roleIn(scope), scope } }
    },
  },
  {
    method: ExternalGroupRoleMappingsService.method.deleteExternalGroupRoleMapping,
    request: ({ target }) => ({ uid: target('external_group_role_mappings') }),
  },
  {
    method: IdentitiesService.method.createIdentity,
    request: ({ name, target }) => ({
      parent: target('groups'),
      identity: { name, claimMatch: claimMatch(name) },
    }),
  },
  {
    method: IdentitiesService.method.updateIdentity,
    request({ name, target, variant }) {
      const change =
        variant === 0
          ? { description: 'somebody' }
          : variant === 1
            ? { claimMatch: claimMatch(name) }
            : { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' }
      return { identity: { uid: target('identities'), ...change } }
    },
  },
  {
    method: IdentitiesService.method.deleteIdentity,
    request: ({ target }) => ({ uid: target('identities') }),
  },
  {
    method: GroupsService.method.createGroup,
    request: ({ name, target, variant }) => ({
      parent: variant === 0 ? '' : target('groups'),
      group: { name },
    }),
  },
  {
    method: GroupsService.method.updateGroup,
    request: ({ name, target }) => ({ group: { uid: target('groups'), name } }),
  },
  {
    method: GroupsService.method.deleteGroup,
    request: ({ target }) => ({ uid: target('groups') }),
  },
  {
    method: AccountAssociationsService.method.createAccountAssociation,
    request: ({ name, target, somebody }) => ({
      parent: target('groups'),
      accountAssociation: { name, chainguard: { serviceBindings: { INGESTER: somebody() } } },
    }),
  },
  {
    method: AccountAssociationsService.method.updateAccountAssociation,
    request: ({ target, somebody }) => ({
      accountAssociation: {
        uid: target('account_associations'),
        chainguard: { serviceBindings: { COSIGNED: somebody() } },
      },
    }),
  },
  {
    method: AccountAssociationsService.method.deleteAccountAssociation,
    request: ({ target }) => ({ uid: target('account_associations') }),
  },
  {
    method: GroupAccessRequestsService.method.approveGroupAccessRequest,
    request({ target, roleIn }) {
      const uid = target('group_access_requests')
      return { uid, roleUid: roleIn(parentOf(uid)) }
    },
  },
  {
    method: GroupAccessRequestsService.method.deleteGroupAccessRequest,
    request: ({ target }) => ({ uid: target('group_access_requests') }),
  },
]

/** Chooses the resources of a write: at random, or such that the caller has the required capabilities. */
function choose(
  { uids, bits, held }: Snapshot,
  caller: string,
  method: DescMethod,
  draw: Draw,
  at: number,
): Choices {
  const heldByCaller = held.get(caller) ?? nothing
  const demanded = (describeMethod(method).access?.capabilities ?? []).map(bitOf)
  const among = (
    all: string[],
    index: number,
    prefersAllowed: boolean,
    isAllowed: (uid: string) => boolean,
  ) => {
    const allowed = prefersAllowed ? all.filter(isAllowed) : []
    return pick(allowed.length > 0 ? allowed : all, index) ?? absent
  }
  return {
    variant: draw.variant,
    name: `made-${at}`,
    target: (table) =>
      among(uids[table], draw.target, draw.prefersPermitted, (uid) =>
        demanded.every((bit) => isCovered(heldByCaller, bit, uid)),
      ),
    roleIn(place) {
      const bindable = uids.roles.filter((uid) => parentOf(uid) === '' || isWithin(place, parentOf(uid)))
      return among(draw.prefersPermitted ? bindable : uids.roles, draw.role, draw.prefersHeld, (uid) =>
        [...(bits.get(uid) ?? [])].every((bit) => isCovered(heldByCaller, bit, place)),
      )
    },
    capabilitiesIn(place) {
      const isAllowed = (name: string) => isCovered(heldByCaller, bitOf(capabilityNamed(name)?.number), place)
      const allowed = draw.prefersHeld ? capabilities.filter(isAllowed) : []
      const threeAllowed = [0, 1, 2].map((offset) => pick(allowed, draw.role + offset) ?? '')
      const names = allowed.length > 0 ? threeAllowed : draw.capabilities
      const numbers = names.flatMap((name) => capabilityNamed(name)?.number ?? [])
      return numbers.flatMap((number) => CapabilitySchema.value[number]?.name ?? [])
    },
    somebody: (offset = 0) =>
      draw.isForSelf ? caller : (pick(uids.identities, draw.somebody + offset) ?? absent),
  }
}

type Caller = { identity: string; token: string }

const bitOf = (number = 0) => capabilityOf(number)?.bit ?? -1

const anyAttempt = fc
  .record({
    plan: anyPlan(capabilities),
    caller: anyIndex,
    callerBindings: fc.array(anyBinding(fc.constant(false)), { minLength: 2, maxLength: 5, size: 'max' }),
    writes: fc.array(anyWrite, { minLength: 1, maxLength: 60, size: 'max' }),
  })
  .map(({ plan, caller, callerBindings, writes }) => {
    const bindings = [
      ...plan.bindings,
      ...callerBindings.map((binding) => ({ ...binding, identity: caller })),
    ]
    return { plan: { ...plan, ...noContent, bindings }, caller, writes }
  })

/** Fewer on PostgreSQL, where a run takes twice as long: the rules for grants are the same on both stores. */
const runsOn = { sqlite: 25, postgres: 8 }

/** None of the writes concerns these resources. */
const noContent = { repos: [], tags: [], advisories: [], plain: [] }

onEachStore('a caller with few capabilities', (engine) => {
  let setUp: WorldPlatform
  before(async () => {
    setUp = await startWorldPlatform(engine)
  })
  after(() => setUp.stop())

  async function tryWrite(snapshot: Snapshot, { identity, token }: Caller, draw: Draw, at: number) {
    const write = pick(writes, draw.write) as Write // the list is not empty
    const sent = write.request(choose(snapshot, identity, write.method, draw, at))
    const isUpdate = write.method.input.fields.some(({ name }) => name === 'update_mask')
    const request: JsonObject = { ...sent, ...(isUpdate && draw.hasFullMask ? { updateMask: '*' } : {}) }
    const door = draw.isOverGrpc ? setUp.grpc : setUp.rest
    const { body, error } = await door.call(write.method, request, token)
    const what = `${write.method.name} ${JSON.stringify(request)} by ${identity}`
    assert.notEqual(error?.code, Code.INTERNAL, `${what}: ${error?.message}`)
    return { what, request, body, isSignedOut: error?.code === Code.UNAUTHENTICATED }
  }

  /** Accepts an invite as sign-in does. Returns whether it was accepted. */
  async function tryAccept(code: string, identity: string, email: string | undefined): Promise<boolean> {
    try {
      const guest = { identity, email }
      await setUp.platform.store.write(() =>
        acceptInvite({ access: signInAccess(new Map()), now: Date.now, random: randomBytes }, code, guest),
      )
      return true
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return false
    }
  }

  test('grants nothing that the caller did not hold', async () => {
    let gainCount = 0
    const property = fc.asyncProperty(anyAttempt, async ({ plan, caller: nthCaller, writes }) => {
      const { store } = setUp.platform
      const world = await setUp.load(plan)
      const caller = pick([...world.users, ...world.workloads], nthCaller) ?? ''
      let token = await setUp.platform.tokenOf(caller)
      const codes: { uid: string; code: string }[] = []
      let before = await readSnapshot(store)

      async function checkGains(what: string, isAllowed: (gain: Gain) => boolean) {
        const now = await readSnapshot(store, before)
        assert.deepEqual(now.misplaced, [], `${what}: grants a role outside its group`)
        if (now === before) return
        for (const gain of gainsOf(before, now)) {
          const { holder, bit, place } = gain
          assert.ok(isAllowed(gain), `${what}: ${holder} gained ${nameOfBit(bit)} in ${place}`)
          gainCount++
        }
        before = now
      }

      for (const [at, draw] of writes.entries()) {
        const heldByCaller = before.held.get(caller) ?? nothing
        const { what, request, body, isSignedOut } = await tryWrite(
          before,
          { identity: caller, token },
          draw,
          at,
        )
        // An earlier write may have ended the sign-in of the caller.
        if (isSignedOut) token = await setUp.platform.tokenOf(caller)
        const isNewOrganization = request.parent === '' && body !== undefined
        if (body?.code) codes.push({ uid: body.uid as string, code: body.code as string })
        // Only after successful writes, because a check takes longer than a write.
        if (body)
          await checkGains(
            what,
            ({ holder, bit, place }) =>
              isCovered(heldByCaller, bit, place) ||
              (isNewOrganization && holder === caller && place === body.uid),
          )

        const invite = pick(codes, draw.target)
        if (!invite) continue
        // The caller needed these capabilities only to create the invite, and may have lost them since.
        const offered = before.held.get(invite.uid) ?? nothing
        const guest = draw.isForSelf ? caller : (pick(before.guests, draw.somebody) ?? absent)
        if (!(await tryAccept(invite.code, guest, draw.prefersHeld ? guestAddress : undefined))) continue
        await checkGains(`${guest} accepts the invite ${invite.uid}`, ({ holder, bit, place }) => {
          return holder === guest && isCovered(offered, bit, place)
        })
      }
      await checkGains('the refused writes after the last successful one', () => false)
    })
    // Unbiased, because fast-check otherwise prefers small values, and there are few runs. A smaller counterexample
    // would take more than half an hour to find.
    const check = () => fc.assert(property, { numRuns: runsOn[engine], unbiased: true, endOnFailure: true })
    await check()
    // Almost half of the runs grant nothing, so once in 600 times, all 8 runs on PostgreSQL grant nothing.
    for (let repetitions = 0; gainCount === 0 && repetitions < 9; repetitions++) await check()
    assert.ok(gainCount > 0, 'no write granted anything, so nothing was tested')
  })
})
