// Foreign workloads: workloads that have roles in an organization and belong to another one. If a claim pattern of such
// a workload matches tokens of an identity of the organization, that identity can use these roles; see takeover.ts.
import { isLiveAt } from '../../store/expiry.ts'
import type { Sql } from '../../store/sql.ts'
import { among, raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import { anyIssuer } from './identities/table.ts'

/** Reading 1000 role bindings and their workloads takes 2 ms on SQLite. */
const maxBindings = 1000

/**
 * The uids of the foreign workloads of the organization `root`. Undefined if they have more than `maxBindings` role
 * bindings there. Both engines use the partial index only if the statement repeats its condition.
 */
export function* readForeignWorkloads(root: string, time: number): Work<string[] | undefined> {
  const rows = yield* all(sql`select identity from role_bindings where root = ${root}
    and length(identity) > 40 and substr(identity, 1, 40) <> root and ${isLiveAt(time)}
    ${raw(`limit ${maxBindings + 1}`)}`)
  if (rows.length > maxBindings) return undefined
  return [...new Set(rows.map(([identity]) => identity as string))]
}

/**
 * Conditions for the identities among these whose patterns may accept tokens of this server. `coalesce` keeps PostgreSQL
 * from using an index on `pattern_issuer`, in which it would read the identities of all organizations.
 */
export const candidatesAmong = (uids: readonly string[], authUrl: string): Sql[] =>
  uids.length === 0
    ? []
    : [sql`uid in ${among(uids)} and coalesce(pattern_issuer, '') in (${authUrl}, ${anyIssuer})`]
