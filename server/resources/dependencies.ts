import type { PageSeals } from '../aip/page-token.ts'
import type { RandomBytes } from '../crypto/random.ts'
import type { Store } from '../store/db.ts'

/** What every resource is given. */
export type Dependencies = {
  store: Store
  pages: PageSeals
  now(): number
  random: RandomBytes
}
