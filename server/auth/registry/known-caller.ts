import type { Caller } from '../../wire/caller.ts'

/** A caller whose credentials were verified. `expires` is when these are no longer valid, in milliseconds since 1970. */
export type KnownCaller = { caller: Caller; expires: number }
