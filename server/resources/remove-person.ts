import { sql } from '../store/sql.ts'
import { readForDelete } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import { removeEntry } from './delete.ts'
import { groupAccessRequests } from './iam/group-access-requests/table.ts'
import { identities } from './iam/identities/table.ts'
import { roleBindings } from './iam/role-bindings/table.ts'
import { removeWhere } from './remove-where.ts'

/** Deletes a person with all their role bindings and access requests, in every group. */
export function* removePerson(access: WriteAccess, identity: string): Work<void> {
  yield* readForDelete(identities.table, identity)
  yield* removeWhere(access, roleBindings, sql`identity = ${identity}`)
  yield* removeWhere(access, groupAccessRequests, sql`identity = ${identity}`)
  yield* removeEntry(access, identities, identity)
  // Rows of providers that have deactivated the person remain, so that this does not lift the deactivation.
  yield sql`delete from provider_sign_outs where identity = ${identity} and disabled_second is null`
}
