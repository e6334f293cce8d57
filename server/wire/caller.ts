import type { RepoAccess } from './repo-access.ts'

/** The caller, as identified by its token. Its grants are read for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds since 1970. */
  issuedAt: number
  /** When the token expires, in milliseconds since 1970. Streams end then. Undefined for a password of the registry. */
  expires?: number
  /** The sign-in that the token comes from; undefined for a workload. The call is refused if the sign-in was ended. */
  signIn?: SignIn
  /** Undefined if the token has no limits. */
  limits?: TokenLimits
  /** The access to repos that a token of the registry allows. Undefined for other credentials. */
  repos?: readonly RepoAccess[]
  /** The claims of the token that was exchanged for this one, for the event log: issuer, subject and audience. */
  act?: Readonly<Record<string, string>>
}

/** The caller of a method that needs no access token, and of a request to the registry without credentials. */
export const anonymous: Caller = { identity: '', issuedAt: 0 }

/** The sign-in of a person. If a token is exchanged for another one, the new token has the same sign-in. */
export type SignIn = {
  /** The uid of the identity that signed in. */
  person: string
  /**
   * When the person signed in, in seconds since 1970; 0 if unknown. The sign-in is valid only if
   * this is later than the last time the person was signed out everywhere (auth/sign-outs.ts).
   */
  signedInAt: number
  /**
   * The id of its family of refresh tokens, or of its grant in oidc-provider. Empty if this sign-in cannot be ended
   * individually, but only by signing the person out everywhere.
   */
  id: string
  /**
   * The uid of the identity provider that the sign-in went through. The sign-in also ends when the provider deactivates
   * the person (auth/provider-sign-outs.ts).
   */
  provider?: string
  /** The person has proven a second factor, or has used a passkey. Access tokens do not contain it. */
  hasSecondFactor?: boolean
}

/** Limits a token to a part of what is granted to its identity. */
export type TokenLimits = {
  /** The token is valid only in these groups and below them. */
  scopes?: readonly string[]
  /** The token allows only these capabilities (names). */
  capabilities?: readonly string[]
}
