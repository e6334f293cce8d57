import { isUid } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import type { Summary } from './import/import-advisories.ts'
import { importAdvisories } from './import/import-advisories.ts'

const usage = 'import advisories --group UID FILE|DIR|-'

export const importRecords: Command = {
  usage,
  about:
    'Imports OSV records, Alpine-style security databases and OpenVEX documents from files, folders or zip archives.',
  async run(args) {
    const { config, flags, rest } = readConfig(process.env, args, { group: { type: 'string' } })
    const [what, path, ...more] = rest
    const { group } = flags
    if (what !== 'advisories' || path === undefined || more.length > 0 || typeof group !== 'string')
      throw new UsageError(`Usage: stemmad ${usage}`)
    if (!isUid(group)) throw new UsageError('--group must be the uid of a group')
    const store = openStore(config)
    try {
      await prepareStore(config, store)
      const [row] = await store.query(sql`select uid from groups where uid = ${group}`)
      if (!row) throw new UsageError(`there is no group ${group}`)
      const report = (line: string) => process.stderr.write(`${line}\n`)
      const summary = await importAdvisories({ store, now: Date.now }, group, path, report)
      process.stdout.write(`${describe(summary)}\n`)
      return summary.broken > 0 ? 1 : 0
    } finally {
      await store.close()
    }
  },
}

function describe(summary: Summary): string {
  const { records, empty, broken } = summary
  const number = (count: number) => count.toLocaleString('en')
  const advisories = `${number(summary.new)} new, ${number(summary.changed)} changed, ${number(summary.same)} the same, ${number(summary.withdrawn)} withdrawn`
  return `${number(records)} ${records === 1 ? 'record' : 'records'}: advisories ${advisories}; ${number(empty)} records name no package, ${number(broken)} are broken.`
}
