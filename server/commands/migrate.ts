import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Command } from './command.ts'

export const migrate: Command = {
  usage: 'migrate',
  about: 'Brings the store to the state this version needs; serve does the same at its start.',
  async run(args) {
    const { config } = readConfig(process.env, args)
    const store = openStore(config)
    try {
      const { applied } = await prepareStore(config, store)
      process.stdout.write(
        applied.length === 0 ? 'The store is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
      )
      return 0
    } finally {
      await store.close()
    }
  },
}
