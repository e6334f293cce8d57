// The role of a worker: what it shares with the other threads of its process, and which calls they perform for it.
import { Worker } from 'node:worker_threads'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { threadProgram } from './package-files.ts'
import type { Series } from './rpc/metrics.ts'
import { maxYoungGenerationSizeMb } from './threads/young-generation.ts'
import type { MaybePromise } from './wire/maybe-promise.ts'
import type { OtherThreads } from './wire/other-thread.ts'
import type { Lane } from './workers/lane.ts'
import { openLane } from './workers/lane.ts'
import type { SharedState } from './workers/shared-state.ts'
import { makeSharedState } from './workers/shared-state.ts'

export type WorkerRole = OtherThreads & {
  shared: SharedState
  /** The first worker also serves the port of the metrics, and makes the link for setting up the server. */
  isFirst: boolean
  /** Whether other threads listen on the same port. */
  sharesPort: boolean
  /** Called when this thread can perform calls. */
  onOpen(core: Core): void
  /** The metrics of all threads; `own` are those of this one. */
  readSeries(own: readonly Series[]): MaybePromise<readonly Series[]>
  close(): Promise<void>
}

export type LaneData = { config: Config; shared: SharedState }

/** The role of a server with one worker: it performs every call, except those for the lane. */
export function onlyWorker(config: Config, shared = makeSharedState()): WorkerRole {
  const lane = laneOf(config, shared)
  return {
    ...{ shared, isFirst: true, sharesPort: false },
    forMethod: () => undefined,
    lane,
    onOpen: () => {},
    readSeries: (own) => own,
    close: async () => lane?.close(),
  }
}

/** Undefined with PostgreSQL: there, an expensive query does not block the thread. */
export function laneOf(config: Config, shared: SharedState): Lane | undefined {
  if (config.databaseUrl) return undefined
  const workerData: LaneData = { config, shared }
  const resourceLimits = { maxYoungGenerationSizeMb: maxYoungGenerationSizeMb.lane }
  return openLane({
    startThread: () => new Worker(threadProgram('lane-thread'), { workerData, resourceLimits }),
    now: Date.now,
  })
}
