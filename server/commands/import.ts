// Imports what others publish. It can be broken off at any time: begun again, it passes over what is there.
import { setTimeout } from 'node:timers/promises'
import { isUid } from '../aip/uid.ts'
import { readConfig } from '../config/config.ts'
import type { Outcome } from '../resources/vulnerabilities/advisories/import-batch.ts'
import { importBatch, prepareImport } from '../resources/vulnerabilities/advisories/import-batch.ts'
import { openSegments } from '../resources/vulnerabilities/advisories/postings.ts'
import type { Prepared } from '../resources/vulnerabilities/advisories/prepare.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import { collectGarbage } from './import/garbage.ts'
import { prepareAll } from './import/preparation.ts'
import { openProgress } from './progress.ts'

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

/** As many as a transaction that others wait for may hold: the more, the less is written twice. */
const itemsAtOnce = 3000
const charactersAtOnce = 16 * 1024 * 1024
/** Milliseconds between two transactions, in which others have their turn. */
const breath = 10
const mostComplaints = 100

export async function importFrom(
  store: Store,
  group: string,
  path: string,
  complain: (line: string) => void,
): Promise<Summary> {
  await store.write(prepareImport)
  const progress = openProgress('records')
  const summary: Summary = { records: 0, empty: 0, broken: 0, new: 0, changed: 0, same: 0, withdrawn: 0 }
  let batch = new Map<string, Prepared>()
  const nextSegment = openSegments()
  let characters = 0

  async function flush(): Promise<void> {
    const items = [...batch.values()]
    batch = new Map()
    characters = 0
    const [first] = items
    if (!first) return
    const segment = nextSegment(first.entry.uid)
    for (const outcome of await store.write(() => importBatch(group, items, segment))) summary[outcome]++
    collectGarbage()
    await setTimeout(breath)
  }

  function refuse(file: string, reason: string): void {
    summary.broken++
    if (summary.broken <= mostComplaints) complain(`${file}: ${reason}`)
    else if (summary.broken === mostComplaints + 1)
      complain('more records are broken; no further ones are told')
  }

  for await (const chunk of prepareAll({ group, path, time: Date.now() })) {
    for (const { file, reason } of chunk.refused) refuse(file, reason)
    for (const item of chunk.items) {
      // Of two that say the same thing of the same package, the later is right.
      if (batch.has(item.source)) await flush()
      batch.set(item.source, item)
      characters += item.record.length
      if (batch.size >= itemsAtOnce || characters >= charactersAtOnce) await flush()
    }
    summary.records += chunk.records
    summary.empty += chunk.empty
    progress.tell(summary.records, chunk.count)
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
