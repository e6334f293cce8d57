// Giving a role where nobody asks whether it may be given: at sign-in, by an invite, to the founder of a group.
import { create } from '@bufbuild/protobuf'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid } from '../../aip/uid.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createEntry } from '../create.ts'
import type { Dependencies } from '../dependencies.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Binds an identity to a role in a group. What it holds there already it is not given twice. */
export function* bindRole(
  { now, random }: Pick<Dependencies, 'now' | 'random'>,
  identityUid: string,
  roleUid: string,
  group: string,
): Work<void> {
  const held = yield* first(sql`select uid from role_bindings
    where identity = ${identityUid} and parent = ${group} and role = ${roleUid}`)
  if (held) return
  const binding = create(RoleBindingSchema, { identityUid, roleUid })
  const time = now()
  yield* createEntry(roleBindings, binding, { uid: newChildUid(group, time, random), now: time })
}
