import { readConfig } from '../config/config.ts'
import type { Command } from './command.ts'
import { withPreparedStore } from './with-store.ts'

export const migrate: Command = {
  usage: 'migrate',
  summary: 'Applies the migrations of this version to the store.',
  details: 'stemmad serve also does this when it starts.',
  async run(args, context) {
    const { config } = readConfig(context.env, args)
    const applied = await withPreparedStore(config, context, async (prepared) => prepared.applied)
    context.stdout.write(
      applied.length === 0 ? 'The store is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
    )
    return 0
  },
}
