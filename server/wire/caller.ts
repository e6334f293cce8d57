/** The caller, as identified by its token. Its grants are read for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds. */
  issuedAt: number
  /** Limits the token to a part of what the identity holds. */
  narrowing?: Narrowing
}

export type Narrowing = {
  /** The groups in which, and below which, it applies. */
  scopes?: readonly string[]
  /** Names of the capabilities that it may use. */
  capabilities?: readonly string[]
}
