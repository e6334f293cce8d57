// Starts a server with several workers.
import { Worker } from 'node:worker_threads'
import type { Config } from './config/config.ts'
import type { Log } from './log.ts'
import { threadProgram } from './package-files.ts'
import { maxYoungGenerationSizeMb } from './threads/young-generation.ts'
import type { WorkerData } from './worker-thread.ts'
import type { SharedState } from './workers/shared-state.ts'
import { makeSharedState } from './workers/shared-state.ts'
import type { Supervisor, SupervisorOptions } from './workers/supervisor.ts'
import { startWorkers } from './workers/supervisor.ts'

export const startServerWithWorkers = (config: Config, log: Log, shared: SharedState): Promise<Supervisor> =>
  startWorkers({ ...supervisionOf(config, shared), log })

/** How the workers of a server are started. `program` is what each of them runs. */
export function supervisionOf(
  config: Config,
  shared = makeSharedState(),
  program = threadProgram('worker-thread'),
): Pick<SupervisorOptions, 'count' | 'hasWriter' | 'drainDelayMs' | 'startThread'> {
  const resourceLimits = { maxYoungGenerationSizeMb: maxYoungGenerationSizeMb.worker }
  return {
    count: config.workers,
    hasWriter: config.databaseUrl === undefined,
    drainDelayMs: config.drainDelayMs,
    startThread(index, port = config.port) {
      const workerData: WorkerData = { config: { ...shareOf(config), port }, shared, isFirst: index === 0 }
      return new Worker(program, { workerData, resourceLimits })
    },
  }
}

/** Limits of the process are divided among the workers. */
function shareOf(config: Config): Config {
  const { workers, maxConnections, databaseConnections } = config
  const share = (limit: number) => Math.ceil(limit / workers)
  return {
    ...config,
    databaseConnections: share(databaseConnections),
    maxConnections: { perNetwork: share(maxConnections.perNetwork), total: share(maxConnections.total) },
  }
}
