import { readConfig } from '../config/config.ts'
import { talliedKinds } from '../storage.ts'
import type { Difference } from '../store/check.ts'
import { checkTally } from '../store/check.ts'
import { loadMigrations } from '../store/migrate.ts'
import type { UnsafePattern } from './check-patterns.ts'
import { findUnsafePatterns } from './check-patterns.ts'
import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

export const check: Command = {
  usage: 'check [--repair]',
  summary: 'Reports wrong totals of lists, and identities with unsafe patterns.',
  details:
    'With --repair, it also corrects the totals. Servers can use the store meanwhile. Unsafe patterns were stored before a rule refused them; correct them with stemma identities update.',
  async run(args, context) {
    const { env } = context
    const { config, flags } = readConfig(env, args, { repair: { type: 'boolean' } })
    const shouldRepair = flags.repair === true
    const { differences, unsafe } = await withStore(config, async (store) => {
      await store.migrate(loadMigrations())
      return {
        differences: await checkTally(store, talliedKinds, shouldRepair),
        unsafe: await findUnsafePatterns(store),
      }
    })
    for (const difference of differences) context.stdout.write(describe(difference))
    context.stdout.write(summarize(differences.length, shouldRepair))
    for (const pattern of unsafe) context.stdout.write(describePattern(pattern))
    const areTotalsCorrect = differences.length === 0 || shouldRepair
    return areTotalsCorrect && unsafe.length === 0 ? 0 : 1
  },
}

const describePattern = ({ identity, field, description }: UnsafePattern) =>
  `unsafe pattern of the identity ${identity}: ${field} ${description}\n`

function describe({ kind, group, tallied, counted }: Difference): string {
  return `${kind} in ${group}: the stored totals are ${tallied.children} directly in it and ${tallied.subtree} at all levels, the correct totals are ${counted.children} and ${counted.subtree}\n`
}

function summarize(count: number, shouldRepair: boolean): string {
  if (count === 0) return 'All totals are correct.\n'
  const wrong = count === 1 ? '1 total was wrong' : `${count} totals were wrong`
  return shouldRepair
    ? `${wrong} and ${count === 1 ? 'has' : 'have'} been corrected.\n`
    : `${wrong}; stemmad check --repair corrects wrong totals.\n`
}
