// Composes the whole server: the doors, and everything behind them (core.ts).
import { setTimeout as pause } from 'node:timers/promises'
import { makeSetUpLink } from './auth/login/set-up/set-up-link.ts'
import { backgroundMetrics, startBackgroundTasks } from './background-tasks.ts'
import type { Config } from './config/config.ts'
import type { CoreOptions, CoreOverrides } from './core.ts'
import { openCore } from './core.ts'
import type { DeliveryOverrides } from './event-delivery.ts'
import { openParties } from './fair-queueing/parties.ts'
import type { MetricsListener } from './http/metrics-listener.ts'
import { listenForMetrics } from './http/metrics-listener.ts'
import type { PlainOptions, PlainPaths } from './http/plain-paths.ts'
import { metricsPath } from './http/probes.ts'
import { shareLimits } from './limit-sharing.ts'
import type { Log } from './log.ts'
import type { Endpoint } from './rpc/call.ts'
import { openMetricsRegistry } from './rpc/metrics.ts'
import type { DoorOverrides } from './server-doors.ts'
import { doorOptionsOf, openServerDoors, plainPathsOf } from './server-doors.ts'
import { openStore, readTimeoutMs } from './storage.ts'
import type { WorkerRole } from './worker-role.ts'
import { divideConnections, onlyWorker } from './worker-role.ts'

/** Dependencies and limits that tests replace. */
export type Overrides = CoreOverrides &
  DeliveryOverrides &
  DoorOverrides & {
    /** How many rows a list may read without the lane. */
    maxListRows?: number
    /** How often copies of the server exchange their call counts for rate limits, in milliseconds. */
    shareIntervalMs?: number
  }

export type App = {
  port: number
  /** The port that serves /metrics, if it is not `port`. */
  metricsPort: number | undefined
  /**
   * The page that creates the first organization; undefined if an organization exists, and in all
   * workers but the first.
   */
  setUpLink: string | undefined
  /** The methods that clients can call, without internal ones. */
  endpoints: readonly Endpoint[]
  /** Exchanges the call counts for rate limits with other copies and threads. Also runs by itself every second. */
  shareLimits(): Promise<void>
  /** Sends all due events to the sinks of subscriptions. Also runs by itself. */
  deliverEvents(): Promise<void>
  /** Tells load balancers that the server is stopping, and goes on serving. */
  startDraining(): void
  /**
   * Waits for running calls, then stops. Unless `isUrgent`, it first goes on serving for `drainDelayMs`, so that load
   * balancers notice that it is stopping, and send no more calls.
   */
  stop(isUrgent?: boolean): Promise<void>
}

/** A list that reads more rows than this would delay other calls by more than about 10 ms. */
const defaultMaxListRows = 5000

export async function startApp(
  config: Config,
  log: Log,
  overrides: Overrides = {},
  role: WorkerRole = onlyWorker(config),
): Promise<App> {
  const databaseConnections = divideConnections(config).worker
  // On the embedded store, calls do not wait for a connection.
  const parties = config.databaseUrl ? openParties() : undefined
  const store = openStore({ ...config, databaseConnections }, log, {
    ...{ readTimeoutMs, commits: role.shared.commits, currentParty: parties?.current },
  })
  try {
    return await openApp({ config, log, store, parties }, overrides, role)
  } catch (error) {
    await role.close()
    await store.close()
    throw error
  }
}

async function openApp(
  { config, log, store, parties }: Pick<CoreOptions, 'config' | 'log' | 'store' | 'parties'>,
  overrides: Overrides,
  role: WorkerRole,
): Promise<App> {
  const { maxListRows = defaultMaxListRows } = overrides
  const core = await openCore(
    {
      ...{ config, log, store, parties, otherThreads: role, maxListRows },
      counts: role.shared.backgroundCounts,
    },
    overrides,
  )
  const { refusals, keys, states, random } = core
  const offered = core.endpoints.filter(({ method }) => !method.isInternal)
  role.onOpen(core)
  const metricsPaths = metricsPath(
    openMetricsRegistry(
      () => role.readSeries(core.series),
      () => backgroundMetrics(role.shared),
    ),
  )
  const plainPaths = plainPathsOf(config, keys, offered, metricsPaths)
  const options = doorOptionsOf(config, log, refusals)
  const setUpLink = role.isFirst
    ? await makeSetUpLink({ store, states, authUrl: config.authUrl, random })
    : undefined
  const metrics = role.isFirst ? await openMetrics(config, options, metricsPaths) : undefined
  const doors = await openServerDoors({
    ...{ config, log, store, core, role, options, offered, plainPaths, overrides },
    runFor: parties?.runFor,
  }).catch((error: unknown) => {
    metrics?.close()
    throw error
  })
  const sharing = shareLimits({ config, store, log, core, role, intervalMs: overrides.shareIntervalMs })
  const tasks = startBackgroundTasks({ config, store, log, core, role, overrides })

  return {
    port: doors.port,
    metricsPort: metrics?.port,
    setUpLink,
    endpoints: offered,
    shareLimits: sharing.exchange,
    deliverEvents: tasks.deliverEvents,
    startDraining: doors.startDraining,
    async stop(isUrgent = false) {
      doors.startDraining()
      if (!isUrgent) await pause(config.drainDelayMs, undefined, { ref: false })
      core.sealSignal.close()
      await tasks.stopCollectionAndDelivery()
      await doors.close(() => Promise.all([core.close(), role.close()]))
      await tasks.stop()
      await sharing.stop()
      refusals.flush()
      metrics?.close()
      await store.close()
    },
  }
}

/** Undefined if the main port serves /metrics. */
async function openMetrics(
  { metricsPort, hosts }: Config,
  options: PlainOptions,
  paths: PlainPaths,
): Promise<MetricsListener | undefined> {
  return metricsPort === undefined
    ? undefined
    : listenForMetrics({ ...options, port: metricsPort, hosts }, paths)
}
