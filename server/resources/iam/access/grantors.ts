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
import type { Work } from '../../../store/work.ts'
import { askCapabilities } from './answer.ts'
import { readIdentities } from './entry.ts'
import { rolesWith } from './roles-with.ts'
import { groupOf } from './source.ts'
import { readSourcesAt } from './sources-at.ts'

const maxGrantors = 10
const maxRoles = 3
const createBits = [Capability.CAP_IAM_ROLE_BINDINGS_CREATE].flatMap(
  (number) => capabilityOf(number)?.bit ?? [],
)

/**
 * Up to `maxGrantors` grantors at a uid, those of the nearest group first. Finds only identities
 * that have all needed capabilities through a single role. Only the uid of a grantor is set if the
 * caller may not see the role binding; `areHidden` tells whether there is such a grantor.
 */
export function* readGrantors(
  grants: Grants,
  missing: readonly number[],
  uid: string,
): Work<{ grantors: RoleBindingIdentity[]; areHidden: boolean }> {
  const levels = lineage(uid).reverse()
  const roles = yield* rolesWith([...createBits, ...missing], levels)
  if (roles.length === 0) return { grantors: [], areHidden: false }
  const found = yield* readSourcesAt({ levels, roles, time: grants.time }, undefined, maxGrantors)
  const isVisible = ({ source }: (typeof found)[number]) => holds(grants, askCapabilities, groupOf(source))
  const visible = yield* readIdentities(found.filter(isVisible).map(({ source }) => source.identity))
  const uids = [...new Set(found.map(({ source }) => source.identity))]
  return {
    grantors: uids.map(
      (grantor) => visible.get(grantor) ?? create(RoleBindingIdentitySchema, { uid: grantor }),
    ),
    areHidden: !uids.every((grantor) => visible.has(grantor)),
  }
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
