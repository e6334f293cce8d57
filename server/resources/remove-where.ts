import type { DescMessage } from '@bufbuild/protobuf'
import type { Sql } from '../store/sql.ts'
import { raw, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import { removeEntry } from './delete.ts'
import type { Kind } from './kind.ts'

/**
 * Deletes all resources of a kind that fulfil the condition. On PostgreSQL, the statement waits for calls that delete
 * some of them, and then skips these.
 */
export function* removeWhere(access: WriteAccess, kind: Kind<DescMessage>, condition: Sql): Work<void> {
  const rows = yield* all(sql`select uid from ${raw(kind.table.name)} where ${condition}
    order by uid /*pg for update */`)
  for (const [uid] of rows) yield* removeEntry(access, kind, uid as string)
}
