/**
 * The actions of events about sign-ins, tokens, passwords, second factors, and whether a person may
 * sign in. Functions that record such events accept only an `AccountAction`, so none is missing here.
 */
export const authenticationActions = [
  ...(['signed-in', 'signed-out', 'session-ended', 'issued', 'exchanged', 'refreshed'] as const),
  ...(['password-set', 'password-changed', 'password-reset', 'disabled', 'enabled'] as const),
  ...(['passkey-begun', 'passkey-added', 'passkey-renamed', 'passkey-removed'] as const),
  ...(['authenticator-app-begun', 'authenticator-app-added', 'authenticator-app-removed'] as const),
  ...(['recovery-codes-made', 'second-factors-removed'] as const),
] as const

type AuthenticationAction = (typeof authenticationActions)[number]

/** The actions of events about an account. The last ones are about its administration, not about authentication. */
export type AccountAction = AuthenticationAction | 'renamed' | 'operator-added' | 'operator-removed'
