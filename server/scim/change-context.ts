import type { RandomBytes } from '../crypto/random.ts'

/** What a change of a resource needs besides the resource. */
export type ChangeContext = {
  provider: string
  now(): number
  random: RandomBytes
  /** The header If-Match. */
  ifMatch: string | undefined
}
