/** The caller, as identified by its token. Its grants are read for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds since 1970. */
  issuedAt: number
  /** Undefined if the token has no limits. */
  limits?: TokenLimits
}

/** Limits a token to a part of what is granted to its identity. */
export type TokenLimits = {
  /** The token is valid only in these groups and below them. */
  scopes?: readonly string[]
  /** The token allows only these capabilities (names). */
  capabilities?: readonly string[]
}
