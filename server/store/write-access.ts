declare const proof: unique symbol

/**
 * Proof that a write is authorized; every function that writes resources takes one. Only server/policy makes it:
 * `admitToWrite` for the caller of a method, system-access.ts for the operator, sign-in and the server itself.
 * The symbol exists only for the type checker.
 */
export type WriteAccess = {
  readonly [proof]: true
  /** Absent for the operator and the server itself: their resources are counted, but never refused. */
  readonly quotas?: QuotaAccess
  /** Who writes, for the event log. Undefined for upkeep, which is not recorded. */
  readonly origin: Origin | undefined
}

/** Who writes, and how. Part of every event that the write records. */
export type Origin = {
  /** The full name of the called method, or the command of the operator. */
  readonly method: string
  /** The uid of the identity; empty for the operator and the server itself. */
  readonly actor: string
  /** An `OriginDetail` as JSON (events/event-row.ts). */
  describe(): string
  /** Milliseconds since 1970. */
  now(): number
  random(size: number): Buffer
  /** The number of the next event of this origin, counted from 0. The log keeps the events in this order. */
  nextNumber(): number
}

/** For `Origin.nextNumber`. */
export function countFromZero(): () => number {
  let next = 0
  return () => next++
}

/** The same access for a change that is upkeep, such as the time at which somebody was last seen. */
export const asUpkeep = (access: WriteAccess): WriteAccess => ({ ...access, origin: undefined })

/** How the quotas above a new resource are found, and reported. */
export type QuotaAccess = {
  /** The limits of organizations that have none of their own, by kind. */
  readonly defaults: ReadonlyMap<string, number>
  /**
   * An organization, and the text that `quotasBetween` (quota.ts) selects for it: a list of its quotas, or null if it
   * has none. Undefined if this transaction has not read the text.
   */
  readonly quotasInOrganization?: { readonly organization: string; readonly text: string | null } | undefined
  /** Whether an error may name this group and its limit. */
  mayNameInErrors(group: string): boolean
}
