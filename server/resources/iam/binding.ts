// Binds roles at sign-in, when an invite is accepted, and for the owner of a new organization. These bindings skip the
// check of delegation.ts that the caller holds the capabilities of the role. Also limits how many role bindings an
// identity can have.
import { create } from '@bufbuild/protobuf'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { failedPrecondition } from '../../aip/errors.ts'
import { newChildUid } from '../../aip/uid.ts'
import { isLiveAt, neverExpires } from '../../store/expiry.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { createEntry } from '../create.ts'
import type { WriteContext } from '../dependencies.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../stored-resource.ts'
import { removeExpiredBlockers } from './expired-bindings.ts'
import { roleBindings } from './role-bindings/table.ts'

/** A list reads all grants of its caller and scans the region of each, so this limit bounds the time of a list. */
const maxBindings = 1000

/** Requires that an identity can get one more role binding. */
export function* requireBelowBindingLimit(identity: string, time: number): Work<void> {
  if (yield* isBelowBindingLimit(identity, time)) return
  throw failedPrecondition(
    'TOO_MANY_ROLE_BINDINGS',
    `an identity can have at most ${maxBindings} role bindings; delete some of them, or bind it once in a group above`,
  )
}

export function* isBelowBindingLimit(identity: string, time: number): Work<boolean> {
  // On PostgreSQL, this lock makes calls that bind the same identity wait for each other, so that each counts the
  // bindings of the others.
  yield sql`select uid from identities where uid = ${identity} /*pg for no key update */`
  const row = yield* first(sql`select count(*) from
    (select uid from role_bindings where identity = ${identity} and ${isLiveAt(time)}
      ${raw(`limit ${maxBindings}`)}) b`)
  return (row?.[0] as number) < maxBindings
}

/** Binds an identity to a role in a group without an expiry, or makes its binding permanent. */
export function* bindRole(
  { access, now, random }: WriteContext,
  identity: string,
  role: string,
  group: string,
): Work<void> {
  const time = now()
  const existing = yield* first(sql`select uid, expire_time from role_bindings
    where identity = ${identity} and parent = ${group} and role = ${role} and ${isLiveAt(time)}`)
  if (existing && (yield* makePermanent(access, existing as [string, number], time))) return
  yield* requireBelowBindingLimit(identity, time)
  yield* removeExpiredBlockers(access, { identity, role, group }, time)
  const uid = newChildUid(group, time, random)
  const columns = { identity, role }
  yield* createEntry(access, roleBindings, create(RoleBindingSchema), { uid, now: time, columns })
}

/** Makes a role binding permanent. Returns false if it was deleted meanwhile. */
function* makePermanent(
  access: WriteAccess,
  [uid, expireTime]: [uid: string, expireTime: number],
  time: number,
): Work<boolean> {
  if (expireTime >= neverExpires) return true
  const stored = yield* lockResource(roleBindings, uid, { liveAt: time })
  if (!stored) return false
  const { expireTime: _, ...permanent } = stored.resource
  const updateTime = nextUpdateTime(time, stored.updateTime)
  yield* replaceResource(access, roleBindings, permanent, { uid, updateTime })
  return true
}
