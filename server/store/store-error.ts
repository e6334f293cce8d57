/**
 * `foreign-key` and `unique` are also thrown into the work, at the statement that violated the constraint. `expensive`:
 * a list would read more rows than its `maxRows`.
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
