/** `foreign-key` and `unique` are thrown into the work as well, at the statement that broke them. */
export type StoreErrorKind = 'foreign-key' | 'unique' | 'unavailable' | 'deadline'

/** An error that a caller of the store can act on. All others pass through unchanged. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, cause?: unknown) {
    super(`store: ${kind}`, { cause })
    this.name = 'StoreError'
    this.kind = kind
  }
}
