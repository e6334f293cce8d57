// Binds roles without checking that the caller holds their capabilities (delegation.ts): at sign-in, when an
// invite is accepted, and to the owner of a new
// organization.
import { create } from '@bufbuild/protobuf'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid } from '../../aip/uid.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createEntry } from '../create.ts'
import type { WriteContext } from '../dependencies.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Binds an identity to a role in a group, unless it is bound already. */
export function* bindRole(
  { access, now, random }: WriteContext,
  identity: string,
  role: string,
  group: string,
): Work<void> {
  const existing = yield* first(sql`select uid from role_bindings
    where identity = ${identity} and parent = ${group} and role = ${role}`)
  if (existing) return
  const time = now()
  const uid = newChildUid(group, time, random)
  const columns = { identity, role }
  yield* createEntry(access, roleBindings, create(RoleBindingSchema), { uid, now: time, columns })
}
