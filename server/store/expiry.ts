// Rows that expire: from its `expire_time` on, a row is treated as if it did not exist. It is deleted later, so until
// then the tally counts it.
import type { Placeholder, Sql } from './sql.ts'
import { raw, sql } from './sql.ts'

/** The expiry of rows that do not expire: the end of the year 9999, in milliseconds since 1970. */
export const neverExpires = 253_402_300_799_000

/** The condition for rows that have not expired. `table` is their alias. */
export const isLiveAt = (time: number | Placeholder, table?: string): Sql =>
  sql`${raw(table === undefined ? 'expire_time' : `${table}.expire_time`)} > ${time}`

/** Both engines use the partial indexes of expiring rows only if the statement repeats their condition. */
export const hasExpiredAt = (time: number): Sql =>
  sql`expire_time <= ${time} and ${raw(`expire_time < ${neverExpires}`)}`
