import type { DescMessage } from '@bufbuild/protobuf'
import { raw, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import { removeEntry } from './delete.ts'
import { groupAccessRequests } from './iam/group-access-requests/table.ts'
import { identities } from './iam/identities/table.ts'
import { roleBindings } from './iam/role-bindings/table.ts'
import type { Kind } from './kind.ts'

/** Deletes a person with all their role bindings and access requests, in every group. */
export function* removePerson(access: WriteAccess, identity: string): Work<void> {
  yield* removeAllOf(access, roleBindings, identity)
  yield* removeAllOf(access, groupAccessRequests, identity)
  yield* removeEntry(access, identities, identity)
  // Rows of providers that have deactivated the person remain, so that this does not lift the deactivation.
  yield sql`delete from provider_sign_outs where identity = ${identity} and disabled_second is null`
}

/** Deletes all resources of a kind that refer to the identity, in every group. */
function* removeAllOf(access: WriteAccess, kind: Kind<DescMessage>, identity: string): Work<void> {
  const rows = yield* all(sql`select uid from ${raw(kind.table.name)} where identity = ${identity}`)
  for (const [uid] of rows) yield* removeEntry(access, kind, uid as string)
}
