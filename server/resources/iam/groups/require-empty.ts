import { failedPrecondition } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { sql } from '../../../store/sql.ts'
import { contentsOf } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { removeEntry } from '../../delete.ts'
import { accountAssociations } from '../account-associations/table.ts'
import { roleBindings } from '../role-bindings/table.ts'

/**
 * Refuses to delete a group that contains resources. An organization has no parent, so the role that allows a caller to
 * delete it is bound in the organization itself: if the organization contains nothing but bindings of the caller, these
 * are deleted.
 */
export function* requireEmpty(access: WriteAccess, uid: string, caller: string): Work<void> {
  const contents = yield* contentsOf(uid)
  const association = yield* first(sql`select uid from account_associations where uid = ${uid}`)
  // An association has the uid of its group, so the tally does not count it among the contents of the group.
  if (association) contents.push({ kind: accountAssociations.table.name, count: 1 })
  if (contents.length === 0) return
  const callerBindings = parentOf(uid) === '' ? yield* bindingsOf(caller, uid) : []
  const [entry, ...otherEntries] = contents
  const hasOnlyBindings = entry?.kind === roleBindings.table.name && otherEntries.length === 0
  if (hasOnlyBindings && entry.count === callerBindings.length) {
    for (const binding of callerBindings) yield* removeEntry(access, roleBindings, binding)
    return
  }
  const kinds = contents.map(({ kind }) => kind.replaceAll('_', ' ')).sort()
  throw failedPrecondition('RESOURCE_NOT_EMPTY', `cannot delete group with child ${kinds.join(', ')}`)
}

function* bindingsOf(identity: string, group: string): Work<string[]> {
  const rows = yield* all(
    sql`select uid from role_bindings where parent = ${group} and identity = ${identity}`,
  )
  return rows.map(([uid]) => uid as string)
}
