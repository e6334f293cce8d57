/** Who calls, as their token says. What they may do is looked up for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds. */
  issuedAt: number
  /** What the token keeps its bearer to, if it does; it never gives more than the identity holds. */
  narrowing?: Narrowing
}

export type Narrowing = {
  /** The groups in which, and below which, it may be used. */
  scopes?: readonly string[]
  /** The capabilities that it may use, by name. */
  capabilities?: readonly string[]
}
