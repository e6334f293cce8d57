import { openStore, prepareStore, talliedKinds } from '../app.ts'
import { readConfig } from '../config.ts'
import { checkTally } from '../store/check.ts'
import type { Command } from './command.ts'

export const check: Command = {
  usage: 'check [--repair]',
  about:
    'Recounts what the tallies say and reports differences; with --repair, mends them. Safe on a live store.',
  async run(args) {
    const { config, flags } = readConfig(process.env, args, { repair: { type: 'boolean' } })
    const store = openStore(config)
    try {
      await prepareStore(config, store)
      const differences = await checkTally(store, talliedKinds, flags.repair === true)
      for (const { kind, place, said, counted } of differences) {
        const words = `${kind} in ${place}: ${said.children} children and ${said.subtree} below, counted ${counted.children} and ${counted.subtree}`
        process.stdout.write(`${words}\n`)
      }
      process.stdout.write(summary(differences.length, flags.repair === true))
      return differences.length === 0 || flags.repair ? 0 : 1
    } finally {
      await store.close()
    }
  },
}

function summary(count: number, isRepaired: boolean): string {
  if (count === 0) return 'All tallies are right.\n'
  const tallies = count === 1 ? '1 tally was wrong' : `${count} tallies were wrong`
  return isRepaired ? `${tallies} and mended.\n` : `${tallies}; stemmad check --repair mends them.\n`
}
