// Imports records of other vulnerability databases. An import can be interrupted at any time and started again: records
// that are already stored are skipped.
import { setTimeout } from 'node:timers/promises'
import { operatorAccessFor } from '../../policy/system-access.ts'
import type { BrokenItem, Outcome } from '../../resources/vulnerabilities/advisories/import-batch.ts'
import { importBatch, tuneStoreForImport } from '../../resources/vulnerabilities/advisories/import-batch.ts'
import type { ImportRows } from '../../resources/vulnerabilities/advisories/import-rows.ts'
import type { Store } from '../../store/db.ts'
import { openSegments } from '../../store/postings/numbering.ts'
import { openProgress } from '../progress.ts'
import { exposeGarbageCollector } from '../v8-garbage-collector.ts'
import { openBatch } from './batch.ts'
import { convertOnThread } from './convert-on-thread.ts'
import type { Chunk, Task } from './convert-records.ts'

export type Summary = Record<Outcome, number> & {
  records: number
  /** The number of records without a package. */
  empty: number
  /** The number of records that cannot be imported, plus the number of invalid packages in valid records. */
  broken: number
}

export type ImportDependencies = {
  store: Store
  now(): number
  /** Default: converts on a separate thread, which takes 0.2 seconds of CPU time to start. */
  convert?: (task: Task) => AsyncIterable<Chunk>
}

/** Pause between two transactions, in which the store serves other calls. */
const pauseMs = 10
const maxReportedErrors = 100

/** `path` is a file, a folder, a zip archive or `-` for standard input. `report` gets a line for each broken record. */
export async function importAdvisories(
  { store, now, convert = convertOnThread }: ImportDependencies,
  group: string,
  path: string,
  report: (line: string) => void,
): Promise<Summary> {
  await store.write(tuneStoreForImport)
  const progress = openProgress('records')
  const summary: Summary = { records: 0, empty: 0, broken: 0, new: 0, changed: 0, same: 0, withdrawn: 0 }
  const batch = openBatch()
  const reportBroken = (name: string, reason: string) => {
    summary.broken++
    if (summary.broken <= maxReportedErrors) report(`${name}: ${reason}`)
    else if (summary.broken === maxReportedErrors + 1)
      report('further broken records are counted, but not listed')
  }
  // Almost nothing of a batch is still referenced after it, but by default V8 lets the heap grow by a hundred megabytes.
  const collectGarbage = exposeGarbageCollector()
  const writeBatch = openWriter(store, group, summary, ({ source, reason }) => reportBroken(source, reason))

  try {
    for await (const chunk of convert({ group, path, time: now() })) {
      for (const { file, reason } of chunk.broken) reportBroken(file, reason)
      for (const item of chunk.items) {
        if (batch.isClosedTo(item)) {
          await writeBatch(batch.drain())
          collectGarbage()
          await setTimeout(pauseMs)
        }
        batch.add(item)
      }
      summary.records += chunk.records
      summary.empty += chunk.empty
      progress.update(summary.records, chunk.total)
    }
    await writeBatch(batch.drain())
  } finally {
    progress.end()
  }
  return summary
}

function openWriter(store: Store, group: string, summary: Summary, onBroken: (item: BrokenItem) => void) {
  const access = operatorAccessFor('stemmad import advisories')
  const nextSegment = openSegments()
  return async (items: readonly ImportRows[]): Promise<void> => {
    const [first] = items
    if (!first) return
    const segment = nextSegment(first.entry.uid)
    const { outcomes, broken } = await store.write(() => importBatch(access, group, items, segment))
    for (const outcome of outcomes) summary[outcome]++
    broken.forEach(onBroken)
  }
}
