/** A person as an issuer describes them. Sign-in passes this to resources, which store it as an identity. */
export type Person = {
  issuer: string
  subject: string
  name: string
  /** A verified address: the operator or a verified organization vouches for it. */
  email?: string | undefined
  emailUnverified?: string | undefined
  /**
   * The domain whose addresses this issuer may verify. A stored address of that domain becomes unverified if the issuer
   * no longer reports a verified address.
   */
  verifiableDomain?: string | undefined
}
