// Converts records to rows on a separate thread, while the main thread writes rows to the store.
import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadProgram } from '../../package-files.ts'
import type { ImportRows } from '../../resources/vulnerabilities/advisories/import-rows.ts'
import { UsageError } from '../command.ts'

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

/** A message from the thread: a chunk, or an error that the operator can correct. */
export type Message = Chunk | { usageError: string }

/**
 * The number of chunks that the thread may send before the main thread has handled the first. For each chunk that it
 * has handled, the main thread sends `'next'`. 15 chunks fill about one batch (batch.ts).
 */
export const chunksAhead = 15

/** The heap of the thread. Values of a record live briefly, so a small old generation is enough. */
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

const program = threadProgram('commands/import/convert-thread')

export async function* convertRecords(task: Task): AsyncGenerator<Chunk> {
  const thread = new Worker(program, { workerData: task, resourceLimits })
  try {
    for await (const [message] of on(thread, 'message', { close: ['exit'] })) {
      if ('usageError' in message) throw new UsageError(message.usageError)
      yield message
      thread.postMessage('next')
    }
  } finally {
    await thread.terminate()
  }
}
