import type { RandomBytes } from '../crypto/random.ts'

/** The values that a change needs besides the resource. */
export type ChangeContext = {
  provider: string
  now(): number
  random: RandomBytes
  /** The header If-Match. */
  ifMatch: string | undefined
  /** Called with the number of new members who do not get the role of a group, because they are in too many groups. */
  onIgnoredMembers(count: number): void
}
