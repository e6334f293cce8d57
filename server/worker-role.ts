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
    close: lane.close,
  }
}

export function laneOf(config: Config, shared: SharedState): Lane {
  const laneConfig = { ...config, databaseConnections: divideConnections(config).lane }
  const workerData: LaneData = { config: laneConfig, shared }
  const resourceLimits = { maxYoungGenerationSizeMb: maxYoungGenerationSizeMb.lane }
  return openLane({
    startThread: () => new Worker(threadProgram('lane-thread'), { workerData, resourceLimits }),
    now: Date.now,
    ...(config.databaseUrl
      ? // PostgreSQL cancels its statements itself.
        { maxRunning: laneConfig.databaseConnections, maxRunMs: Number.POSITIVE_INFINITY }
      : // A query on the embedded store occupies its thread.
        { maxRunning: 1 }),
  })
}

/** The share of the lane in the connections of a worker to PostgreSQL. */
const laneShare = 0.1

/** Expensive calls have connections of their own, so they cannot take all of them. */
export function divideConnections({ databaseConnections }: Config): { worker: number; lane: number } {
  const lane = Math.max(1, Math.floor(databaseConnections * laneShare))
  return { worker: Math.max(1, databaseConnections - lane), lane }
}
