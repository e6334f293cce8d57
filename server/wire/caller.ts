/** The caller, as identified by its token. Its grants are read for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds. */
  issuedAt: number
  /** Undefined if the token has no limits. */
  limits?: TokenLimits
}

/** Limits a token to a part of what is granted to its identity. */
export type TokenLimits = {
  /** The groups in which, and below which, it applies. */
  scopes?: readonly string[]
  /** Names of the capabilities that it may use. */
  capabilities?: readonly string[]
}
