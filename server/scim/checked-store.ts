import type { Store } from '../store/db.ts'
import type { Work } from '../store/work.ts'

/** How long a write may wait and run, as for calls of the API. */
const maxWriteMs = 60_000

/**
 * Checks the token again in each write: it may be revoked while the body of the request arrives. Every write has a
 * deadline, in the time of `systemNow`.
 */
export const checkedStore = (store: Store, check: () => Work<void>, systemNow: () => number): Store => ({
  ...store,
  write: (work, deadline = systemNow() + maxWriteMs) =>
    store.write(function* () {
      yield* check()
      return yield* work()
    }, deadline),
})
