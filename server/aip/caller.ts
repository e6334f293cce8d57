/** Who calls, as their token says. What they may do is looked up for each call. */
export type Caller = {
  identity: string
  /** When the token was issued, in seconds. */
  issuedAt: number
}
