// The meaning of the errors of SQLite.
import { StoreError } from '../store-error.ts'

const busy = 5
/** SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN */
const unavailable = [7, 10, 13, 14]
const constraintForeignKey = 787
const constraintUnique = 2067
const constraintPrimaryKey = 1555

const codeOf = (error: unknown) => (error as { errcode?: number }).errcode ?? 0

/** The low byte of an extended result code. */
const primaryCodeOf = (error: unknown) => codeOf(error) & 0xff

/** Whether another connection has the lock. */
export const isBusy = (error: unknown) => primaryCodeOf(error) === busy

/** Converts an error to the StoreError that corresponds to it. Other errors are returned unchanged. */
export function translate(error: unknown): unknown {
  switch (codeOf(error)) {
    case constraintForeignKey:
      return new StoreError('foreign-key', error)
    case constraintUnique:
    case constraintPrimaryKey:
      return new StoreError('unique', error)
    default:
      return isBusy(error) || unavailable.includes(primaryCodeOf(error))
        ? new StoreError('unavailable', error)
        : error
  }
}
