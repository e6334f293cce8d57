import { readConfig } from '../config/config.ts'
import type { ChainFault, ChainHead } from '../store/events/verify-chains.ts'
import { verifyChains } from '../store/events/verify-chains.ts'
import { loadMigrations } from '../store/migrate.ts'
import type { Command } from './command.ts'
import { usageOf } from './command.ts'
import { countOf } from './format-bytes.ts'
import { withStore } from './with-store.ts'

export const audit: Command = {
  usage: 'audit verify [--heads]',
  summary: 'Verifies that no entry of the audit log was changed, removed or added.',
  details: `The entries of each organization are chained by hashes. The command reads all of them and names the first wrong entry of
each organization; its exit code is 1 if there is one. Servers can use the store meanwhile.
Somebody who can write to the store can also compute a new chain. To notice this, keep the output of --heads, the last
hash of each organization, in another place, and compare it later: while retention has not deleted that entry, its hash
stays the same.`,
  async run(args, { env, stdout }) {
    const { config, flags, positionals } = readConfig(env, args, { heads: { type: 'boolean' } })
    if (positionals.length !== 1 || positionals[0] !== 'verify') throw usageOf(audit)
    return withStore(config, async (store) => {
      await store.migrate(loadMigrations())
      let [chains, entries, faults] = [0, 0, 0]
      for await (const { head, fault } of verifyChains(store)) {
        chains++
        entries += head.entries
        if (flags.heads === true) stdout.write(describeHead(head))
        if (!fault) continue
        faults++
        stdout.write(describeFault(fault))
      }
      const all = `${`${entries} entries`} of ${countOf(chains, 'organization')}`
      stdout.write(faults === 0 ? `${all}: all are as they were recorded.\n` : `${all}: ${faults} damaged.\n`)
      return faults === 0 ? 0 : 1
    })
  },
}

const describeHead = ({ root, sequence, hash }: ChainHead) => `${root} ${sequence} ${hash}\n`

const meanings: Record<ChainFault['fault'], string> = {
  missing: 'is missing',
  changed: 'was changed, or an entry before it was replaced',
  added: 'was added, and is not part of the chain',
  'cut off': 'and all later ones are missing',
}

const describeFault = ({ root, sequence, fault }: ChainFault) =>
  `the entry ${sequence} of ${root} ${meanings[fault]}\n`
