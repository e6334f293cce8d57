import type { Store } from '../store/db.ts'

/** The store, with a function that is called after each commit. */
export function withCommitHook(store: Store, onCommit: () => void): Store {
  return {
    ...store,
    write: (work, deadline) =>
      store.write(work, deadline).then((value) => {
        onCommit()
        return value
      }),
  }
}
