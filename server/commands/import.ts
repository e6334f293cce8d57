import { isUid } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import type { Summary } from './import/import-advisories.ts'
import { importAdvisories } from './import/import-advisories.ts'
import { withPreparedStore } from './with-store.ts'

export const importRecords: Command = {
  usage: 'import advisories --group UID FILE|DIR|-',
  summary: 'Imports advisories from a file, folder, zip archive or standard input.',
  details: `Reads OSV records, Alpine-style security databases and OpenVEX documents. An import that was interrupted can be
started again: it skips records that are already stored.`,
  async run(args, context) {
    const { config, flags, positionals } = readConfig(context.env, args, { group: { type: 'string' } })
    const [resource, path, ...extra] = positionals
    const { group } = flags
    if (resource !== 'advisories' || path === undefined || extra.length > 0 || typeof group !== 'string')
      throw usageOf(importRecords)
    if (!isUid(group)) throw new UsageError('--group must be the uid of a group')
    const summary = await withPreparedStore(config, context, async ({ store }) => {
      const [row] = await store.query(sql`select uid from groups where uid = ${group}`)
      if (!row) throw new UsageError(`there is no group ${group}`)
      const report = (line: string) => context.stderr.write(`${line}\n`)
      return importAdvisories({ store, now: context.now }, group, path, report)
    })
    context.stdout.write(`${describe(summary)}\n`)
    return summary.broken > 0 ? 1 : 0
  },
}

function describe(summary: Summary): string {
  const { records, empty, broken } = summary
  const number = (count: number) => count.toLocaleString('en')
  const advisories = `${number(summary.new)} new, ${number(summary.changed)} changed, ${number(summary.same)} the same, ${number(summary.withdrawn)} withdrawn`
  return `${number(records)} ${records === 1 ? 'record' : 'records'}: advisories ${advisories}; ${number(empty)} records name no package, ${number(broken)} are broken.`
}
