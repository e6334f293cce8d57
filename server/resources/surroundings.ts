import type { PageSeals } from '../aip/page-token.ts'
import type { RandomBytes } from '../aip/random.ts'
import type { Store } from '../store/db.ts'

/** What every resource is given. */
export type Surroundings = {
  store: Store
  pages: PageSeals
  now(): number
  random: RandomBytes
}
