// Who may found an organization, and what makes somebody its owner.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { permissionDenied } from '../../../aip/errors.ts'
import { newChildUid, parentOf } from '../../../aip/uid.ts'
import { builtInRole } from '../../../policy/built-in-roles.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { createEntry } from '../../create.ts'
import type { Surroundings } from '../../surroundings.ts'
import { roleBindings } from '../role-bindings/table.ts'

/** Users may, and those the operator made owners; workloads may not. */
export function* requireFounder(identity: string): Work<void> {
  const isUser = parentOf(identity) === ''
  if (isUser) return
  const founder = yield* first(sql`select identity from founders where identity = ${identity}`)
  if (!founder) throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_CREATE), '')
}

export function* makeOwner(
  { now, random }: Pick<Surroundings, 'now' | 'random'>,
  organization: string,
  identity: string,
): Work<void> {
  const binding = create(RoleBindingSchema, { identityUid: identity, roleUid: builtInRole('owner').uid })
  const facts = { uid: newChildUid(organization, random), now: now() }
  yield* createEntry(roleBindings, binding, facts)
}
