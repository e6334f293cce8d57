/** The parts of an invite that its page shows to everyone who has its code. */
export type InviteDescription = {
  /** The names of the organization and of the groups below it, down to the group of the invite. */
  groups: string[]
  role: string
  /** Whether the organization requires a second factor. */
  requiresSecondFactor: boolean
  /** The name or address of the creator; undefined if it is not known. */
  creator: string | undefined
  /** The only address that can accept the invite; empty for any. */
  email: string
  /** In milliseconds since 1970. */
  expires: number
}
