// Converts records to rows on a separate thread, while the main thread writes rows to the store.
import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadProgram } from '../../package-files.ts'
import { UsageError } from '../command.ts'
import type { Chunk, Task } from './convert-records.ts'

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

export async function* convertOnThread(task: Task): AsyncGenerator<Chunk> {
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
