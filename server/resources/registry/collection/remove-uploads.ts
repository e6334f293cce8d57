import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { countContent } from '../content-usage.ts'

const uploadsPerTransaction = 100

/** Deletes a batch of rows of uploads that were last written before `before`. Returns their ids. */
export function* removeUploads(access: WriteAccess, before: number): Work<string[]> {
  const rows = yield sql`delete from uploads where id in (
      select id from uploads where update_time < ${before}
      order by update_time, id limit ${uploadsPerTransaction} /*pg for update skip locked */)
    returning id, repo, reserved`
  for (const [repo, uploads] of Map.groupBy(rows, (row) => row[1] as string))
    yield* countContent(access, repo, -uploads.reduce((sum, [, , reserved]) => sum + (reserved as number), 0))
  return rows.map(([id]) => id as string)
}
