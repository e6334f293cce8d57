import type { Store } from './db.ts'
import type { Work } from './work.ts'

/** Carries the result of a work out of its transaction, which is rolled back. */
class RolledBack extends Error {
  readonly value: unknown

  constructor(value: unknown) {
    super('the transaction is rolled back on purpose')
    this.value = value
  }
}

/** A store whose writes return their result but change nothing: each of them is rolled back. */
export const rolledBackStore = (store: Store): Store => ({
  ...store,
  async write<T>(work: () => Work<T>, deadline?: number): Promise<T> {
    try {
      return await store.write(() => rollBackAfter(work), deadline)
    } catch (error) {
      if (error instanceof RolledBack) return error.value as T // the value of this work
      throw error
    }
  },
})

function* rollBackAfter<T>(work: () => Work<T>): Work<never> {
  throw new RolledBack(yield* work())
}
