// Proofs of authorization for writes that no caller requests. `restrictedFiles` in scripts/rooms.ts lists the rooms that may
// import them.
import type { WriteAccess } from '../store/write-access.ts'

/** For the commands of `stemmad`, which run with access to the store itself. */
export const operatorAccess = {} as WriteAccess // a proof has no content

/** For sign-in: it creates people, records when they were last seen, and accepts invites. */
export const signInAccess = {} as WriteAccess // a proof has no content

/** For the start of the server, which renders rows again and stores the built-in roles. */
export const startAccess = {} as WriteAccess // a proof has no content
