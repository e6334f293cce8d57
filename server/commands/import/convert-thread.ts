// The thread that reads records and converts them to rows; convert-records.ts starts it.
import { parentPort, workerData } from 'node:worker_threads'
import { StatusError } from '../../aip/errors.ts'
import { importRowsOf } from '../../resources/vulnerabilities/advisories/import-rows.ts'
import { readRecord } from '../../resources/vulnerabilities/formats/read-record.ts'
import { RecordError } from '../../resources/vulnerabilities/formats/record-error.ts'
import { UsageError } from '../command.ts'
import type { Chunk, Message, Task } from './convert-records.ts'
import { chunksAhead } from './convert-records.ts'
import type { SourceText } from './records.ts'
import { openRecords } from './records.ts'

const itemsPerChunk = 200
const charactersPerChunk = 1024 * 1024
/** The errors of an invalid record. Any other error is a bug and ends the import. */
const recordErrors = [RecordError, StatusError, SyntaxError]

const port = parentPort
if (!port) throw new Error('convert-thread.ts runs only as a thread of stemmad import')
const { group, path, time } = workerData as Task

/** The number of chunks that may be sent now. The main thread sends a message for each chunk that it has handled. */
let credits = chunksAhead
let onCredit = () => {}
port.on('message', () => {
  credits++
  onCredit()
})

try {
  await convertAll()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  port.postMessage({ usageError: error.message } satisfies Message)
} finally {
  port.close()
}

async function convertAll(): Promise<void> {
  const { total, read } = await openRecords(path)
  let chunk = emptyChunk(total)
  let characters = 0
  for await (const source of read()) {
    convert(source, chunk)
    characters += source.text.length
    const isFull = chunk.items.length >= itemsPerChunk || chunk.records >= itemsPerChunk
    if (!isFull && characters < charactersPerChunk) continue
    await send(chunk)
    chunk = emptyChunk(total)
    characters = 0
  }
  await send(chunk)
}

function emptyChunk(total: number | undefined): Chunk {
  return { total, records: 0, empty: 0, items: [], broken: [] }
}

async function send(chunk: Chunk): Promise<void> {
  while (credits === 0)
    await new Promise<void>((resolve) => {
      onCredit = resolve
    })
  credits--
  port?.postMessage(chunk satisfies Message)
}

/** If one package of a record is broken, the other packages of that record are still imported. */
function convert({ file, text }: SourceText, chunk: Chunk): void {
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
