// Memory and names that all threads of a server share.
import { randomUUID } from 'node:crypto'
import type { BackgroundCounts } from './background-counts.ts'
import { makeBackgroundCounts } from './background-counts.ts'
import type { DeliveryCounts } from './delivery-counts.ts'
import { makeDeliveryCounts } from './delivery-counts.ts'

export type SharedState = {
  /** Increased after each write to the embedded store, even if it was rolled back; wraps around. */
  commits: Int32Array<SharedArrayBuffer>
  /** Held by a thread while it writes log lines to standard output. */
  outputLock: Int32Array<SharedArrayBuffer>
  backgroundCounts: BackgroundCounts
  deliveryCounts: DeliveryCounts
  /** The name of the channel on which the threads tell each other how many calls they have counted. */
  channel: string
}

export const makeSharedState = (): SharedState => ({
  commits: new Int32Array(new SharedArrayBuffer(4)),
  outputLock: new Int32Array(new SharedArrayBuffer(4)),
  backgroundCounts: makeBackgroundCounts(),
  deliveryCounts: makeDeliveryCounts(),
  channel: `stemma-${randomUUID()}`,
})
