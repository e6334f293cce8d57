// Nobody gives what they do not hold. Whatever hands out a role asks here: bindings, invites, the default
// role of an identity provider, the approval of a request.

import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { cannotDelegate, invalidField, permissionDenied } from '../../aip/errors.ts'
import { isAtOrBelow, parentOf, rootOf } from '../../aip/uid.ts'
import type { Bits } from '../../policy/bits.ts'
import { decodeBits } from '../../policy/bits.ts'
import { nameOf, nameOfBit } from '../../policy/capabilities.ts'
import type { Grants } from '../../policy/grants.ts'
import { holds, missingAt } from '../../policy/grants.ts'
import { readGrants } from '../../policy/read-grants.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'

export function requireHeld(grants: Grants, bits: Bits, place: string): void {
  const lacking = missingAt(grants, bits, place)
  if (lacking !== undefined) throw cannotDelegate(nameOfBit(lacking), place)
}

/** A built-in role, or one of the group or of a group above it; and one that gives no more than the caller holds. */
export function* requireDelegable(grants: Grants, group: string, role: string, field: string): Work<void> {
  const isNear = parentOf(role) === '' || isAtOrBelow(group, parentOf(role))
  const row = isNear && (yield* first(sql`select bits from roles where uid = ${role} /*pg for key share */`))
  if (!row)
    throw invalidField(field, 'must be the uid of a built-in role, or of one in this group or above it')
  requireHeld(grants, decodeBits(row[0] as string), group)
}

/** A person, an identity of the same organization, or another that the caller may see. */
export function* requireBindable(grants: Grants, group: string, identity: string, field: string): Work<void> {
  const row = yield* first(sql`select uid from identities where uid = ${identity} /*pg for key share */`)
  const isOpen = parentOf(identity) === '' || rootOf(identity) === rootOf(group)
  if (!row || !(isOpen || (yield* isVisible(grants, identity)))) {
    throw invalidField(field, 'must be the uid of a person or of an identity that you may see')
  }
}

function* isVisible({ caller }: Grants, identity: string): Work<boolean> {
  const grants = yield* readGrants(caller, identity, true)
  return holds(grants, [Capability.CAP_IAM_IDENTITY_LIST], identity)
}

/**
 * Whoever takes over an identity holds what it holds, so they must hold as much themselves. What others have
 * given it in their organizations they have given to whoever rules the identities of its own.
 */
export function* requireAllGrantsOf({ caller }: Grants, identity: string): Work<void> {
  const root = rootOf(identity)
  const elsewhere = yield* first(
    sql`select uid from role_bindings where identity = ${identity} and root <> ${root} limit 1`,
  )
  if (elsewhere && !holds(yield* readGrants(caller, root, true), [Capability.CAP_IAM_IDENTITY_UPDATE], root))
    throw permissionDenied(nameOf(Capability.CAP_IAM_IDENTITY_UPDATE), root)
  const bindings = yield sql`select b.parent, r.bits from role_bindings b join roles r on r.uid = b.role
    where b.identity = ${identity} and b.root = ${root}`
  if (bindings.length === 0) return
  const own = yield* readGrants(caller, undefined, true)
  for (const [place, bits] of bindings) requireHeld(own, decodeBits(bits as string), place as string)
}
