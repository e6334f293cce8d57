// A caller can delegate only capabilities that they hold themselves. Every call that grants a role is checked here: role
// bindings, invites, the default role of an identity provider, external group role mappings,
// approved access requests, pull tokens and custom roles.
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { cannotDelegate, cannotRevoke, invalidField, permissionDenied } from '../../aip/errors.ts'
import type { Region } from '../../aip/region.ts'
import { intersectAll } from '../../aip/region.ts'
import { isAtOrBelow, parentOf, rootOf } from '../../aip/uid.ts'
import type { Bits } from '../../policy/bits.ts'
import { decodeBits } from '../../policy/bits.ts'
import { builtInRole } from '../../policy/built-in-roles.ts'
import { capabilityNamed, nameOf, nameOfBit } from '../../policy/capabilities.ts'
import type { Grants } from '../../policy/grants.ts'
import { grantedRegions, holds, indexGrants, missingAt } from '../../policy/grants.ts'
import { lockGrants } from '../../policy/read-grants.ts'
import { isLiveAt } from '../../store/expiry.ts'
import { principalsOf } from '../../store/external-groups.ts'
import type { Row } from '../../store/sql.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'

/** Requires that the caller holds all of these capabilities in the group. */
export function requireHeld(grants: Grants, bits: Bits, group: string): void {
  const missing = missingAt(grants, bits, group)
  if (missing !== undefined) throw cannotDelegate(nameOfBit(missing), group)
}

/**
 * Requires a role that is built in, or belongs to the group or a group above it. The caller must hold all capabilities
 * of the role in the group.
 */
export function* requireDelegable(grants: Grants, group: string, role: string, field: string): Work<void> {
  const isUsable = parentOf(role) === '' || isAtOrBelow(group, parentOf(role))
  const row =
    isUsable && (yield* first(sql`select bits from roles where uid = ${role} /*pg for key share */`))
  if (!row)
    throw invalidField(field, 'must be the uid of a built-in role, or of one in this group or above it')
  requireHeld(grants, decodeBits(row[0] as string), group)
}

/** Requires that the caller holds all capabilities of a role that an update of a role binding takes away. */
export function* requireRevocable(grants: Grants, group: string, role: string): Work<void> {
  const row = yield* first(sql`select bits from roles where uid = ${role} /*pg for key share */`)
  const missing = missingAt(grants, decodeBits((row?.[0] ?? '') as string), group)
  if (missing !== undefined) throw cannotRevoke(nameOfBit(missing), group)
}

/**
 * Requires an identity of the organization of the group, or another one that the caller may see. An external group is
 * refused, because it gets its roles from mappings only. The error is the same whether the identity does not exist or may
 * not be bound. Otherwise callers could find out who has an account, because the uid of a person can be computed from
 * their e-mail address.
 */
export function* requireBindable(grants: Grants, group: string, identity: string, field: string): Work<void> {
  const row = yield* first(sql`select uid from identities where uid = ${identity}
    and not exists (select 1 from external_group_role_mappings m where m.external_group = identities.uid)
    /*pg for key share */`)
  const isBindable =
    parentOf(identity) === ''
      ? yield* isKnownPerson(grants, group, identity)
      : rootOf(identity) === rootOf(group) || (yield* isVisible(grants, identity))
  if (!row || !isBindable)
    throw invalidField(
      field,
      'must be the uid of an identity of this organization, or of another identity that you may see; other people join by an invite, an access request or an identity provider',
    )
}

/**
 * Whether a person is the caller, or has a role in the organization of the group or in any group where the caller may
 * list identities. Other people must join themselves: a binding would show who they are, and take effect without their
 * consent.
 */
function* isKnownPerson(grants: Grants, group: string, person: string): Work<boolean> {
  if (person === grants.caller.identity) return true
  const rows = yield* all(
    sql`select distinct parent from role_bindings where identity in ${principalsOf([person], grants.time)}
      and ${isLiveAt(grants.time)}`,
  )
  const groups = rows.map(([parent]) => parent as string)
  if (groups.some((uid) => rootOf(uid) === rootOf(group))) return true
  if (groups.length === 0) return false
  const allGrants = yield* lockGrants(grants, undefined)
  const visible = grantedRegions(allGrants, [Capability.CAP_IAM_IDENTITY_LIST])
  return (
    intersectAll(
      visible,
      groups.map((uid): Region => ({ kind: 'point', uid })),
    ).length > 0
  )
}

function* isVisible(grants: Grants, identity: string): Work<boolean> {
  const grantsThere = yield* lockGrants(grants, identity)
  return holds(grantsThere, [Capability.CAP_IAM_IDENTITY_LIST], identity)
}

/**
 * Requires that the caller holds everything that these identities hold in the organization `root`. If an identity of
 * `root` also has roles in other organizations, the caller need not hold these, but must be allowed to update every
 * identity of `root`. `identities` may include identities of other organizations, which trust an identity of `root`.
 * Their roles outside `root` are ignored: otherwise anybody could create such an identity in another organization, and
 * the administrators of `root` could no longer change the identity that it trusts.
 */
export function* requireAllGrantsOf(grants: Grants, identities: readonly string[], root: string): Work<void> {
  if (identities.length === 0) return
  const identitiesOfRoot = identities.filter((uid) => rootOf(uid) === root)
  const hasRolesElsewhere =
    identitiesOfRoot.length > 0 &&
    (yield* first(
      sql`select uid from role_bindings where identity in ${principalsOf(identitiesOfRoot, grants.time)}
        and root <> ${root} and ${isLiveAt(grants.time)} limit 1`,
    ))
  if (
    hasRolesElsewhere &&
    !holds(yield* lockGrants(grants, root), [Capability.CAP_IAM_IDENTITY_UPDATE], root)
  )
    throw permissionDenied(nameOf(Capability.CAP_IAM_IDENTITY_UPDATE), root)
  const bindings =
    yield sql`select distinct b.parent, r.bits from role_bindings b join roles r on r.uid = b.role
    where b.identity in ${principalsOf(identities, grants.time)} and b.root = ${root}
      and ${isLiveAt(grants.time, 'b')}`
  yield* requireHeldEverywhere(grants, bindings)
}

/**
 * Requires that the caller holds everything that the external group role mappings of an identity provider grant. A
 * caller who decides what the provider asserts, by changing its issuer or by sending groups in its name, can become a
 * member of every external group.
 */
export function* requireAllMappedRoles(grants: Grants, provider: string): Work<void> {
  const bindings = yield sql`select distinct b.parent, r.bits from external_group_role_mappings m
    join role_bindings b on b.uid = m.binding join roles r on r.uid = b.role where m.parent = ${provider}
      and ${isLiveAt(grants.time, 'b')}`
  yield* requireHeldEverywhere(grants, bindings)
}

/** Each row has a group and the bits of a role. */
function* requireHeldEverywhere(grants: Grants, rows: readonly Row[]): Work<void> {
  if (rows.length === 0) return
  const findMissing = indexGrants(yield* lockGrants(grants, undefined))
  for (const [group, bits] of rows as [string, string][]) {
    const bit = findMissing(decodeBits(bits), group)
    if (bit !== undefined) throw cannotDelegate(nameOfBit(bit), group)
  }
}

/** Requires that the caller holds everything that an owner of the organization holds. */
export function* requireOwner(grants: Grants, root: string): Work<void> {
  const bits = builtInRole('owner').capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? [])
  requireHeld(yield* lockGrants(grants, root), new Set(bits), root)
}
