// A caller can delegate only capabilities that they hold themselves. Every call that grants a role is checked here: role
// bindings, invites, the default role of an identity provider, approved access requests and custom roles.
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { cannotDelegate, invalidField, permissionDenied } from '../../aip/errors.ts'
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
import { among, sql } from '../../store/sql.ts'
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

/**
 * Requires an identity of the organization of the group, or another one that the caller may see. The error is the same
 * whether the identity does not exist or may not be bound. Otherwise callers could find out who has an account, because
 * the uid of a person can be computed from their e-mail address.
 */
export function* requireBindable(grants: Grants, group: string, identity: string, field: string): Work<void> {
  const row = yield* first(sql`select uid from identities where uid = ${identity} /*pg for key share */`)
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
 * Whether a person has a role in the organization of the group, or in any group where the caller may list identities.
 * Other people must join themselves: a binding would show who they are, and take effect without their consent.
 */
function* isKnownPerson({ caller }: Grants, group: string, person: string): Work<boolean> {
  if (person === caller.identity) return true
  const rows = yield* all(sql`select distinct parent from role_bindings where identity = ${person}`)
  const groups = rows.map(([parent]) => parent as string)
  if (groups.some((uid) => rootOf(uid) === rootOf(group))) return true
  if (groups.length === 0) return false
  const grants = yield* lockGrants(caller, undefined)
  const visible = grantedRegions(grants, [Capability.CAP_IAM_IDENTITY_LIST])
  return (
    intersectAll(
      visible,
      groups.map((uid): Region => ({ kind: 'point', uid })),
    ).length > 0
  )
}

function* isVisible({ caller }: Grants, identity: string): Work<boolean> {
  const grants = yield* lockGrants(caller, identity)
  return holds(grants, [Capability.CAP_IAM_IDENTITY_LIST], identity)
}

/**
 * Requires that the caller holds everything that these identities hold in the organization `root`. If an identity of
 * `root` also has roles in other organizations, the caller need not hold these, but must be allowed to update every
 * identity of `root`. Identities of other organizations that trust an identity of `root` may be among these identities.
 * Their roles outside `root` are ignored: otherwise anybody could create such an identity in another organization, and
 * the administrators of `root` could no longer change the identity that it trusts.
 */
export function* requireAllGrantsOf(
  { caller }: Grants,
  identities: readonly string[],
  root: string,
): Work<void> {
  if (identities.length === 0) return
  const identitiesOfRoot = identities.filter((uid) => rootOf(uid) === root)
  const hasRolesElsewhere =
    identitiesOfRoot.length > 0 &&
    (yield* first(
      sql`select uid from role_bindings where identity in ${among(identitiesOfRoot)} and root <> ${root} limit 1`,
    ))
  if (
    hasRolesElsewhere &&
    !holds(yield* lockGrants(caller, root), [Capability.CAP_IAM_IDENTITY_UPDATE], root)
  )
    throw permissionDenied(nameOf(Capability.CAP_IAM_IDENTITY_UPDATE), root)
  const bindings =
    yield sql`select distinct b.parent, r.bits from role_bindings b join roles r on r.uid = b.role
    where b.identity in ${among(identities)} and b.root = ${root}`
  if (bindings.length === 0) return
  const missing = indexGrants(yield* lockGrants(caller, undefined))
  for (const [group, bits] of bindings as [string, string][]) {
    const bit = missing(decodeBits(bits), group)
    if (bit !== undefined) throw cannotDelegate(nameOfBit(bit), group)
  }
}

/** Requires that the caller holds everything that an owner of the organization holds. */
export function* requireOwner({ caller }: Grants, root: string): Work<void> {
  const bits = builtInRole('owner').capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? [])
  requireHeld(yield* lockGrants(caller, root), new Set(bits), root)
}
