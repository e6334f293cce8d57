// Turns errors of the store into errors for the caller.
import { deadlineExceeded, TooExpensive, unavailable } from '../aip/errors.ts'
import type { Store } from '../store/db.ts'
import { isDiskFull, StoreError } from '../store/store-error.ts'
import { recover } from '../wire/maybe-promise.ts'

export function withStatusErrors(store: Store): Store {
  return {
    ...store,
    query: (statement) => recover(() => store.query(statement), toStatusError),
    read: (work) => recover(() => store.read(work), toStatusError),
    write: (work, deadline) => store.write(work, deadline).catch(toStatusError),
  }
}

/** A constraint error that no resource has handled is a bug in the server, so it is not converted. */
function toStatusError(error: unknown): never {
  if (!(error instanceof StoreError)) throw error
  if (error.kind === 'unavailable' && isDiskFull(error))
    throw unavailable('the disk of the store is full, so nothing can be changed; try again later', error)
  if (error.kind === 'unavailable')
    throw unavailable('the store cannot be reached just now; try again', error)
  if (error.kind === 'deadline') throw deadlineExceeded()
  if (error.kind === 'expensive') throw new TooExpensive()
  throw error
}
