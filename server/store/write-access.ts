declare const proof: unique symbol

/**
 * Proof that a write is authorized; every function that writes resources takes one. Only server/policy makes it:
 * `admitToWrite` for the caller of a method, system-access.ts for the operator, sign-in and the start of the server.
 * It exists only for the type checker, so it costs nothing at run time.
 */
export type WriteAccess = { readonly [proof]: true }
