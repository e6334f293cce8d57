import type { Config } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import type { CommandContext } from './command.ts'

/** Opens the configured store, and closes it after the action. */
export async function withStore<T>(config: Config, action: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(config)
  try {
    return await action(store)
  } finally {
    await store.close()
  }
}

export type PreparedStore = Awaited<ReturnType<typeof prepareStore>> & { store: Store }

/** Like `withStore`, but applies the migrations and loads the signing keys before the action. */
export const withPreparedStore = <T>(
  config: Config,
  context: CommandContext,
  action: (prepared: PreparedStore) => Promise<T>,
): Promise<T> =>
  withStore(config, async (store) => action({ store, ...(await prepareStore(config, store, context)) }))
