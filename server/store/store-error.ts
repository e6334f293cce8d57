/**
 * `foreign-key` and `unique` are also thrown into the work, at the statement that violated the constraint. `expensive`:
 * a list or search would read more rows or postings than its caller allows.
 */
export type StoreErrorKind = 'foreign-key' | 'unique' | 'unavailable' | 'deadline' | 'expensive'

/** An error that callers of the store can handle. All other errors pass through unchanged. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, cause?: unknown) {
    super(`store: ${kind}`, { cause })
    this.name = 'StoreError'
    this.kind = kind
  }
}

const maxCauses = 5

/** Whether the store could not write because its disk is full: SQLITE_FULL, or disk_full of PostgreSQL. */
export function isDiskFull(error: StoreError): boolean {
  let cause: unknown = error.cause
  for (let depth = 0; depth < maxCauses && cause instanceof Error; depth++) {
    const { errcode = 0, code } = cause as { errcode?: number; code?: unknown }
    if ((errcode & 0xff) === 13 || code === '53100') return true
    cause = cause.cause
  }
  return false
}
