// The store as resources see it: what it cannot do just now is told in words for the caller.
import { deadlineExceeded, unavailable } from '../aip/errors.ts'
import type { Store } from '../store/db.ts'
import { StoreError } from '../store/store-error.ts'
import { recover } from '../wire/maybe-promise.ts'

export function withStatusErrors(store: Store): Store {
  return {
    ...store,
    query: (statement) => recover(() => store.query(statement), explain),
    read: (work) => recover(() => store.read(work), explain),
    write: (work, deadline) => store.write(work, deadline).catch(explain),
  }
}

/** A constraint that no resource foresaw stays what it is: a fault of ours. */
function explain(error: unknown): never {
  if (!(error instanceof StoreError)) throw error
  if (error.kind === 'unavailable')
    throw unavailable('the store cannot be reached just now; try again', error)
  if (error.kind === 'deadline') throw deadlineExceeded()
  throw error
}
