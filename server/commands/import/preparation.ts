// Records become what is stored of them on a thread of its own, while this one writes to the store.
import { on } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Prepared } from '../../resources/vulnerabilities/advisories/prepare.ts'
import { UsageError } from '../command.ts'

/** What the other thread is told at its beginning. */
export type Task = { group: string; path: string; time: number }

/** Some records, and what became of them. */
export type Chunk = {
  /** How many there are in all, if that is known. */
  count: number | undefined
  records: number
  /** Those that name no package. */
  empty: number
  items: Prepared[]
  /** Those that cannot be imported. */
  refused: { file: string; reason: string }[]
}

export type Message = Chunk | { usage: string }

/** How many chunks may wait for this thread: what it writes at once. */
export const chunksAhead = 15

/** In megabytes. What a record leaves behind dies young, so that little room is needed for it. */
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

const program = new URL(`./preparation-thread${extname(import.meta.filename)}`, import.meta.url)

export async function* prepareAll(task: Task): AsyncGenerator<Chunk> {
  const thread = new Worker(program, { workerData: task, resourceLimits })
  try {
    for await (const [message] of on(thread, 'message', { close: ['exit'] })) {
      if ('usage' in message) throw new UsageError(message.usage)
      yield message
      thread.postMessage('taken')
    }
  } finally {
    await thread.terminate()
  }
}
