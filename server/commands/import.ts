// Imports what others publish. It can be broken off at any time: begun again, it passes over what is there.
import { isUid } from '../aip/uid.ts'
import { openStore, prepareStore } from '../app.ts'
import { readConfig } from '../config.ts'
import type { Item, Outcome } from '../resources/vulnerabilities/advisories/import-batch.ts'
import { faultOf, importBatch, prepareImport } from '../resources/vulnerabilities/advisories/import-batch.ts'
import { RecordError } from '../resources/vulnerabilities/formats/imported.ts'
import { readRecord } from '../resources/vulnerabilities/formats/read.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import { openProgress } from './import/progress.ts'
import { recordsIn } from './import/records.ts'

const usage = 'import advisories --group UID FILE|DIR|-'

export const importRecords: Command = {
  usage,
  about:
    'Imports OSV records, Alpine-style security databases and OpenVEX documents: files, folders, zip archives.',
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
      const summary = await importFrom(store, group, path, (line) => process.stderr.write(`${line}\n`))
      process.stdout.write(`${told(summary)}\n`)
      return summary.broken > 0 ? 1 : 0
    } finally {
      await store.close()
    }
  },
}

export type Summary = Record<Outcome, number> & {
  records: number
  /** Records that name no package. */
  empty: number
  broken: number
}

/** As many as a transaction that others wait for may hold. */
const itemsAtOnce = 500
const charactersAtOnce = 8 * 1024 * 1024
const mostComplaints = 100

export async function importFrom(
  store: Store,
  group: string,
  path: string,
  complain: (line: string) => void,
): Promise<Summary> {
  const records = await recordsIn(path)
  await store.write(prepareImport)
  const progress = openProgress(records.count)
  const summary: Summary = { records: 0, empty: 0, broken: 0, new: 0, changed: 0, same: 0, withdrawn: 0 }
  const time = Date.now()
  let batch = new Map<string, Item>()
  let characters = 0

  async function flush(): Promise<void> {
    const items = [...batch.values()]
    batch = new Map()
    characters = 0
    if (items.length === 0) return
    for (const outcome of await store.write(() => importBatch(group, items))) summary[outcome]++
  }

  function refuse(file: string, reason: string): void {
    summary.broken++
    if (summary.broken <= mostComplaints) complain(`${file}: ${reason}`)
    else if (summary.broken === mostComplaints + 1)
      complain('more records are broken; no further ones are told')
  }

  for await (const { file, text } of records.read()) {
    progress.tell(++summary.records)
    try {
      const items = readRecord(JSON.parse(text), file, time, text)
      if (items.length === 0) summary.empty++
      for (const item of items) {
        const fault = faultOf(item.draft)
        if (fault !== undefined) {
          refuse(file, fault)
          continue
        }
        // Of two that say the same thing of the same package, the later is right.
        if (batch.has(item.source)) await flush()
        const format = item.source.slice(0, item.source.indexOf(':'))
        batch.set(item.source, { ...item, format })
        characters += item.record.length
      }
    } catch (error) {
      if (!(error instanceof RecordError || error instanceof SyntaxError)) throw error
      refuse(file, error.message)
    }
    if (batch.size >= itemsAtOnce || characters >= charactersAtOnce) await flush()
  }
  await flush()
  progress.end()
  return summary
}

function told(summary: Summary): string {
  const { records, empty, broken } = summary
  const number = (count: number) => count.toLocaleString('en')
  const advisories = `${number(summary.new)} new, ${number(summary.changed)} changed, ${number(summary.same)} the same, ${number(summary.withdrawn)} withdrawn`
  return `${number(records)} ${records === 1 ? 'record' : 'records'}: advisories ${advisories}; ${number(empty)} records name no package, ${number(broken)} are broken.`
}
