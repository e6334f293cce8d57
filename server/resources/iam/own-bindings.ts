// People may delete their own role bindings without any capability: an identity can have only so
// many, and others may give a person roles that they never asked for. A token that is limited to
// groups or capabilities does not allow this.
import { parentOf } from '../../aip/uid.ts'
import { isLiveAt } from '../../store/expiry.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import type { Caller } from '../../wire/caller.ts'

const mayGiveUpRoles = ({ identity, limits }: Pick<Caller, 'identity' | 'limits'>) =>
  parentOf(identity) === '' && !limits

/** Whether the caller may delete this role binding without a capability. Locks it, so that it stays the caller's own. */
export function* lockOwnBinding(caller: Caller, uid: string, time: number): Work<boolean> {
  if (!mayGiveUpRoles(caller)) return false
  const row = yield* first(sql`select uid from role_bindings
    where uid = ${uid} and identity = ${caller.identity} and ${isLiveAt(time)} /*pg for update */`)
  return row !== undefined
}

/** The person whose own role binding it is, and its expiry. */
export type OwnBinding = { person: string; expireTime: number }

/** Finds the role bindings with these uids that people may delete as their own, without a capability. */
export function* findOwnBindings(uids: readonly string[], time: number): Work<Map<string, OwnBinding>> {
  if (uids.length === 0) return new Map()
  const rows = yield* all(sql`select uid, identity, expire_time from role_bindings
    where uid in ${among(uids)} and ${isLiveAt(time)}`)
  const bindings = (rows as [string, string, number][]).filter(([, identity]) => mayGiveUpRoles({ identity }))
  return new Map(bindings.map(([uid, person, expireTime]) => [uid, { person, expireTime }]))
}
