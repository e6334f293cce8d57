// The thread that converts records to rows; convert-on-thread.ts starts it.
import { parentPort, workerData } from 'node:worker_threads'
import { UsageError } from '../command.ts'
import type { Message } from './convert-on-thread.ts'
import { chunksAhead } from './convert-on-thread.ts'
import type { Chunk, Task } from './convert-records.ts'
import { convertRecords } from './convert-records.ts'

const port = parentPort
if (!port) throw new Error('convert-thread.ts runs only as a thread of stemmad import')

/** The number of chunks that may be sent now. The main thread sends a message for each chunk that it has handled. */
let credits = chunksAhead
let onCredit = () => {}
port.on('message', () => {
  credits++
  onCredit()
})

try {
  for await (const chunk of convertRecords(workerData as Task)) await send(chunk)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  port.postMessage({ usageError: error.message } satisfies Message)
} finally {
  port.close()
}

async function send(chunk: Chunk): Promise<void> {
  while (credits === 0)
    await new Promise<void>((resolve) => {
      onCredit = resolve
    })
  credits--
  port?.postMessage(chunk satisfies Message)
}
