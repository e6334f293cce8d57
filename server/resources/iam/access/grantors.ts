// Who could grant capabilities that an identity lacks: those who may create role bindings at the place and have the
// capabilities themselves (iam/delegation.ts).
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { RoleBindingIdentity } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleBindingIdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { lineage } from '../../../aip/uid.ts'
import { builtInRoles } from '../../../policy/built-in-roles.ts'
import { capabilityOf, nameOfBit } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { askCapabilities } from './answer.ts'
import { readIdentities } from './entry.ts'
import { readHolders } from './holders.ts'

const maxGrantors = 10
const maxRoles = 3
const createBits = [Capability.CAP_IAM_ROLE_BINDINGS_CREATE].flatMap(
  (number) => capabilityOf(number)?.bit ?? [],
)

/** The first grantors at a uid. Only the uid of a grantor is set if the caller may not see its role bindings. */
export function* readGrantors(
  grants: Grants,
  missing: readonly number[],
  uid: string,
  maxRows: number | undefined,
): Work<RoleBindingIdentity[]> {
  const bits = [...createBits, ...missing]
  const { uids } = yield* readHolders({
    ...{ uid, bits, time: grants.time, after: '', size: maxGrantors, maxRows },
  })
  if (uids.length === 0) return []
  const bindings = yield sql`select distinct identity, parent from role_bindings
    where identity in ${among(uids)} and parent in ${among(lineage(uid))}`
  const visible = new Set(
    bindings.filter(([, group]) => holds(grants, askCapabilities, group as string)).map(([holder]) => holder),
  )
  const identities = yield* readIdentities(uids.filter((holder) => visible.has(holder)))
  return uids.map((holder) => identities.get(holder) ?? create(RoleBindingIdentitySchema, { uid: holder }))
}

/** The names of the smallest built-in roles that have all of these capabilities. */
export function sufficientRoles(missing: readonly number[]): string[] {
  const names = missing.map(nameOfBit)
  return builtInRoles
    .filter(({ capabilities }) => names.every((name) => capabilities.includes(name)))
    .sort((a, b) => a.capabilities.length - b.capabilities.length)
    .slice(0, maxRoles)
    .map(({ name }) => name)
}
