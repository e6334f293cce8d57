// Binds roles without checking that the caller holds their capabilities (delegation.ts): at sign-in, when an invite is
// accepted, and to the owner of a new organization. Limits how many role bindings an identity can have.
import { create } from '@bufbuild/protobuf'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { failedPrecondition } from '../../aip/errors.ts'
import { newChildUid } from '../../aip/uid.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createEntry } from '../create.ts'
import type { WriteContext } from '../dependencies.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Every list reads the grants of its caller and each of their regions, so their number bounds the work of a call. */
const maxBindings = 1000

/** Requires that an identity can get one more role binding. */
export function* requireRoom(identity: string): Work<void> {
  // On PostgreSQL this lock lets concurrent bindings of one identity be counted one after the other.
  yield sql`select uid from identities where uid = ${identity} /*pg for no key update */`
  const row = yield* first(sql`select count(*) from
    (select uid from role_bindings where identity = ${identity} ${raw(`limit ${maxBindings}`)}) b`)
  if ((row?.[0] as number) < maxBindings) return
  throw failedPrecondition(
    'TOO_MANY_ROLE_BINDINGS',
    `an identity can have at most ${maxBindings} role bindings; delete some of them, or bind it once in a group above`,
  )
}

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
  yield* requireRoom(identity)
  const time = now()
  const uid = newChildUid(group, time, random)
  const columns = { identity, role }
  yield* createEntry(access, roleBindings, create(RoleBindingSchema), { uid, now: time, columns })
}
