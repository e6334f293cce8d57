import { readConfig } from '../config/config.ts'
import { openStore, talliedKinds } from '../storage.ts'
import type { Difference } from '../store/check.ts'
import { checkTally } from '../store/check.ts'
import { loadMigrations } from '../store/migrate.ts'
import type { Command } from './command.ts'

export const check: Command = {
  usage: 'check [--repair]',
  about:
    'Recounts what the tallies say and reports differences; with --repair, mends them. Safe on a live store.',
  async run(args) {
    const { config, flags } = readConfig(process.env, args, { repair: { type: 'boolean' } })
    const isRepair = flags.repair === true
    const store = openStore(config)
    try {
      await store.migrate(await loadMigrations())
      const differences = await checkTally(store, talliedKinds, isRepair)
      for (const difference of differences) process.stdout.write(describe(difference))
      process.stdout.write(summary(differences.length, isRepair))
      return differences.length === 0 || isRepair ? 0 : 1
    } finally {
      await store.close()
    }
  },
}

function describe({ kind, place, said, counted }: Difference): string {
  return `${kind} in ${place}: ${said.children} children and ${said.subtree} below, counted ${counted.children} and ${counted.subtree}\n`
}

function summary(count: number, isRepaired: boolean): string {
  if (count === 0) return 'All tallies are right.\n'
  const tallies = count === 1 ? '1 tally was wrong' : `${count} tallies were wrong`
  return isRepaired ? `${tallies} and mended.\n` : `${tallies}; stemmad check --repair mends them.\n`
}
