// The thread that reads records and prepares them; see preparation.ts.
import { parentPort, workerData } from 'node:worker_threads'
import { StatusError } from '../../aip/errors.ts'
import { prepare } from '../../resources/vulnerabilities/advisories/prepare.ts'
import { RecordError } from '../../resources/vulnerabilities/formats/imported.ts'
import { readRecord } from '../../resources/vulnerabilities/formats/read.ts'
import { UsageError } from '../command.ts'
import type { Chunk, Message, Task } from './preparation.ts'
import { chunksAhead } from './preparation.ts'
import type { Found } from './records.ts'
import { recordsIn } from './records.ts'

const itemsInAChunk = 200
const charactersInAChunk = 1024 * 1024
/** What may be wrong with a record. */
const faults = [RecordError, StatusError, SyntaxError]

const port = parentPort
if (!port) throw new Error('this is a thread of stemmad import')
const { group, path, time } = workerData as Task
let free = chunksAhead
let onFree = () => {}
port.on('message', () => {
  free++
  onFree()
})

try {
  await readAll()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  port.postMessage({ usage: error.message } satisfies Message)
} finally {
  port.close()
}

async function readAll(): Promise<void> {
  const { count, read } = await recordsIn(path)
  let chunk = emptyChunk(count)
  let characters = 0
  for await (const found of read()) {
    take(found, chunk)
    characters += found.text.length
    if (
      chunk.items.length < itemsInAChunk &&
      chunk.records < itemsInAChunk &&
      characters < charactersInAChunk
    )
      continue
    await send(chunk)
    chunk = emptyChunk(count)
    characters = 0
  }
  await send(chunk)
}

function emptyChunk(count: number | undefined): Chunk {
  return { count, records: 0, empty: 0, items: [], refused: [] }
}

async function send(chunk: Chunk): Promise<void> {
  while (free === 0)
    await new Promise<void>((resolve) => {
      onFree = resolve
    })
  free--
  port?.postMessage(chunk satisfies Message)
}

function take({ file, text }: Found, chunk: Chunk): void {
  chunk.records++
  attempt(() => {
    const parts = readRecord(JSON.parse(text), file, time, text)
    if (parts.length === 0) chunk.empty++
    for (const part of parts) {
      const format = part.source.slice(0, part.source.indexOf(':'))
      attempt(() => chunk.items.push(prepare(group, { ...part, format })))
    }
  })

  function attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!faults.some((fault) => error instanceof fault)) throw error
      chunk.refused.push({ file, reason: (error as Error).message })
    }
  }
}
