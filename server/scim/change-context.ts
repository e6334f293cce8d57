import type { RandomBytes } from '../crypto/random.ts'

/** The values that a change needs besides the resource. */
export type ChangeContext = {
  provider: string
  now(): number
  random: RandomBytes
  /** The header If-Match. */
  ifMatch: string | undefined
  /** Called with the number of people who are in too many groups with a role mapping to get the role of another one. */
  onIgnoredMembers(count: number): void
}
