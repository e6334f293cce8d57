import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { Command } from './command.ts'
import { usageOf } from './command.ts'
import { recordCommand } from './record-command.ts'
import { withPreparedStore } from './with-store.ts'

export const migrate: Command = async (args, context) => {
  const { config, positionals } = readConfig(context.env, args)
  if (positionals.length > 0) throw usageOf('migrate')
  const applied = await withPreparedStore(config, context, async ({ store, applied: names }) => {
    const access = operatorAccessFor('stemmad migrate')
    if (names.length > 0) await store.write(() => recordCommand(access, 'store', 'migrated', { names }))
    return names
  })
  context.stdout.write(
    applied.length === 0 ? 'The store is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
  )
  return 0
}
