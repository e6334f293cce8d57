import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'

const uploadsPerTransaction = 100

/** Deletes the rows of uploads to which nothing was written since `before`, and returns their ids. */
export function* removeUploads(before: number): Work<string[]> {
  const rows = yield sql`delete from uploads where id in (
      select id from uploads where update_time < ${before}
      order by update_time, id limit ${uploadsPerTransaction} /*pg for update skip locked */)
    returning id`
  return rows.map(([id]) => id as string)
}
