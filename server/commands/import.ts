import { isUid } from '../aip/uid.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import { sql } from '../store/sql.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import type { Summary } from './import/import-advisories.ts'
import { importAdvisories } from './import/import-advisories.ts'
import { importVersions } from './import/import-versions.ts'
import { withPreparedStore } from './with-store.ts'

export const importRecords: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, { group: { type: 'string' } })
  const [resource, path, ...extra] = positionals
  const { group } = flags
  if (path === undefined || extra.length > 0) throw usageOf('import')
  if (resource === 'advisories' && typeof group === 'string')
    return runAdvisories(config, context, group, path)
  if (resource === 'versions' && group === undefined) return runVersions(config, context, path)
  throw usageOf('import')
}

async function runAdvisories(
  config: Config,
  context: CommandContext,
  group: string,
  path: string,
): Promise<number> {
  if (!isUid(group)) throw new UsageError('--group must be the uid of a group')
  const summary = await withPreparedStore(config, context, async ({ store }) => {
    const [row] = await store.query(sql`select uid from groups where uid = ${group}`)
    if (!row) throw new UsageError(`there is no group ${group}`)
    return importAdvisories({ store, now: context.now }, group, path, reportTo(context))
  })
  context.stdout.write(`${describe(summary)}\n`)
  return summary.broken > 0 ? 1 : 0
}

async function runVersions(config: Config, context: CommandContext, path: string): Promise<number> {
  const summary = await withPreparedStore(config, context, ({ store }) =>
    importVersions({ store, now: context.now }, path, reportTo(context)),
  )
  const counts = ['new', 'changed', 'same', 'removed', 'broken'] as const
  const words = { new: 'new', changed: 'changed', same: 'the same', removed: 'removed', broken: 'broken' }
  context.stdout.write(
    `Packages: ${counts.map((name) => `${number(summary[name])} ${words[name]}`).join(', ')}.\n`,
  )
  return summary.broken > 0 ? 1 : 0
}

const reportTo = (context: CommandContext) => (line: string) => {
  context.stderr.write(`${line}\n`)
}

const number = (count: number) => count.toLocaleString('en')

function describe(summary: Summary): string {
  const { records, empty, broken } = summary
  const advisories = `${number(summary.new)} new, ${number(summary.changed)} changed, ${number(summary.same)} the same, ${number(summary.withdrawn)} withdrawn`
  return `${number(records)} ${records === 1 ? 'record' : 'records'}: advisories ${advisories}; records without a package: ${number(empty)}, broken: ${number(broken)}.`
}
