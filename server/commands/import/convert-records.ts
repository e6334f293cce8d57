// Converts records to rows, without access to the store.
import { StatusError } from '../../aip/errors.ts'
import type { ImportRows } from '../../resources/vulnerabilities/advisories/import-rows.ts'
import { importRowsOf } from '../../resources/vulnerabilities/advisories/import-rows.ts'
import { readRecord } from '../../resources/vulnerabilities/formats/read-record.ts'
import { RecordError } from '../../resources/vulnerabilities/formats/record-error.ts'
import type { SourceText } from './records.ts'
import { openRecords } from './records.ts'

/** `time` is used for records that contain no times. */
export type Task = { group: string; path: string; time: number }

/** A part of the records, converted to rows. */
export type Chunk = {
  /** The number of records in all chunks, if it is known in advance. */
  total: number | undefined
  records: number
  /** The number of records without a package. */
  empty: number
  items: ImportRows[]
  broken: { file: string; reason: string }[]
}

const itemsPerChunk = 200
const charactersPerChunk = 1024 * 1024
/** The errors of an invalid record. Any other error is a bug and ends the import. */
const recordErrors = [RecordError, StatusError, SyntaxError]

/** Fails with a `UsageError` if the operator can correct the error. */
export async function* convertRecords({ path, ...task }: Task): AsyncGenerator<Chunk> {
  const { total, read } = await openRecords(path)
  let chunk = emptyChunk(total)
  let characters = 0
  for await (const source of read()) {
    convert(source, task, chunk)
    characters += source.text.length
    const isFull = chunk.items.length >= itemsPerChunk || chunk.records >= itemsPerChunk
    if (!isFull && characters < charactersPerChunk) continue
    yield chunk
    chunk = emptyChunk(total)
    characters = 0
  }
  yield chunk
}

function emptyChunk(total: number | undefined): Chunk {
  return { total, records: 0, empty: 0, items: [], broken: [] }
}

/** If one package of a record is broken, the other packages of that record are still imported. */
function convert({ file, text }: SourceText, { group, time }: Omit<Task, 'path'>, chunk: Chunk): void {
  chunk.records++
  catchRecordErrors(file, chunk, () => {
    const advisories = readRecord(JSON.parse(text), file, time, text)
    if (advisories.length === 0) chunk.empty++
    for (const advisory of advisories) {
      const format = advisory.source.slice(0, advisory.source.indexOf(':'))
      catchRecordErrors(file, chunk, () => chunk.items.push(importRowsOf(group, { ...advisory, format })))
    }
  })
}

function catchRecordErrors(file: string, chunk: Chunk, action: () => void): void {
  try {
    action()
  } catch (error) {
    if (!recordErrors.some((type) => error instanceof type)) throw error
    chunk.broken.push({ file, reason: (error as Error).message })
  }
}
