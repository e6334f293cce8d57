/** The caller, as identified by its token. Its grants are read for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds since 1970. */
  issuedAt: number
  /** The sign-in that the token comes from; undefined for a workload. The call is refused if it was ended. */
  signIn?: SignIn
  /** Undefined if the token has no limits. */
  limits?: TokenLimits
}

/** The sign-in of a person. Tokens that were exchanged for others keep it. */
export type SignIn = {
  /** The uid of the identity that signed in. */
  person: string
  /** In seconds since 1970; always later than the last sign-out everywhere before it. */
  second: number
  /** The family of its refresh tokens, or its grant; empty if it cannot be ended by itself. */
  id: string
}

/** Limits a token to a part of what is granted to its identity. */
export type TokenLimits = {
  /** The token is valid only in these groups and below them. */
  scopes?: readonly string[]
  /** The token allows only these capabilities (names). */
  capabilities?: readonly string[]
}
