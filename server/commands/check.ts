import { readConfig } from '../config/config.ts'
import { talliedKinds } from '../storage.ts'
import type { Difference } from '../store/check.ts'
import { checkTally } from '../store/check.ts'
import { loadMigrations } from '../store/migrate.ts'
import type { IdentityFinding } from './check-identities.ts'
import { checkIdentities } from './check-identities.ts'
import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

export const check: Command = {
  usage: 'check [--repair]',
  summary: 'Reports wrong totals of lists, and identities with unsafe or unusable values.',
  details:
    'With --repair, it also corrects the totals. Servers can use the store meanwhile. Unsafe patterns were stored before a rule refused them; correct them with stemma identities update. Warnings name identities that nobody can assume, or everybody with a token of the issuer; they do not change the exit code.',
  async run(args, context) {
    const { env } = context
    const { config, flags } = readConfig(env, args, { repair: { type: 'boolean' } })
    const shouldRepair = flags.repair === true
    const { differences, findings } = await withStore(config, async (store) => {
      await store.migrate(loadMigrations())
      return {
        differences: await checkTally(store, talliedKinds, shouldRepair),
        findings: await checkIdentities(store),
      }
    })
    for (const difference of differences) context.stdout.write(describe(difference))
    context.stdout.write(summarize(differences.length, shouldRepair))
    for (const finding of findings) context.stdout.write(describeFinding(finding))
    const areTotalsCorrect = differences.length === 0 || shouldRepair
    const arePatternsSafe = findings.every(({ kind }) => kind === 'warning')
    return areTotalsCorrect && arePatternsSafe ? 0 : 1
  },
}

const describeFinding = ({ kind, identity, field, description }: IdentityFinding) =>
  kind === 'warning'
    ? `warning: the identity ${identity}: ${field} ${description}\n`
    : `unsafe pattern of the identity ${identity}: ${field} ${description}\n`

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
