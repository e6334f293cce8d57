// Composes the whole server: the doors, and everything behind them (core.ts).
import { randomUUID } from 'node:crypto'
import { Code, codeName } from './aip/code.ts'
import { keySetPath } from './auth/keys/key-set-path.ts'
import { maintainKeys, recordRotation } from './auth/keys/rotation.ts'
import { makeSetUpLink } from './auth/login/set-up/set-up-link.ts'
import { sweepExpiredStates } from './authentication.ts'
import { scheduleBindingExpiry } from './binding-expiry.ts'
import type { Config } from './config/config.ts'
import { openConsole } from './console/console.ts'
import { loadBundle } from './console/load-bundle.ts'
import type { CoreOverrides } from './core.ts'
import { openCore } from './core.ts'
import type { DeliveryOverrides } from './event-delivery.ts'
import { deliveryMetrics, startDelivery } from './event-delivery.ts'
import { eventMetrics, scheduleEventRetention } from './event-retention.ts'
import { sealRegularly } from './events/sealer.ts'
import { openFrontDoor } from './front-door/front-door.ts'
import { iconPaths } from './front-door/icons.ts'
import { openAuthzen } from './http/authzen/door.ts'
import { metadataPath } from './http/authzen/metadata.ts'
import { clientAddress, proxyTest } from './http/client-address.ts'
import { continueIfAwaited } from './http/dispatch.ts'
import type { OnRejected } from './http/door.ts'
import type { Doors } from './http/doors.ts'
import { openDoors } from './http/doors.ts'
import { allowLongBody } from './http/listen/long-bodies.ts'
import type { MetricsListener } from './http/metrics-listener.ts'
import { listenForMetrics } from './http/metrics-listener.ts'
import type { PlainOptions, PlainPaths } from './http/plain-paths.ts'
import { prefersHtml } from './http/prefers-html.ts'
import { metricsPath, probePaths } from './http/probes.ts'
import { openRequestIds } from './http/request-id.ts'
import { openStreams } from './http/streams.ts'
import { shareLimits } from './limit-sharing.ts'
import { loadInAdvance } from './load-in-advance.ts'
import type { Log } from './log.ts'
import { systemOrigin } from './policy/origin.ts'
import { referencePaths } from './reference/reference.ts'
import { collectionMetrics, openCollector } from './registry-collection.ts'
import { openRegistryDoor } from './registry-door.ts'
import { retentionMetrics, scheduleRetention } from './retention-schedule.ts'
import type { Endpoint } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'
import { openMetricsRegistry } from './rpc/metrics.ts'
import type { RefusalLog } from './rpc/refusal-log.ts'
import { openStreamCorridor } from './rpc/stream-corridor.ts'
import { openStore } from './storage.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import type { WorkerRole } from './worker-role.ts'
import { onlyWorker } from './worker-role.ts'

/** How long clients of aborted streams have to receive the error, in milliseconds. */
const abortGraceMs = 1000

/** Dependencies and limits that tests replace. */
export type Overrides = CoreOverrides &
  DeliveryOverrides & {
    /** How long a stopping server waits for running calls, in milliseconds. */
    drainTimeoutMs?: number
    /** Loads the files of the console. */
    loadBundle?: typeof loadBundle
    /** How many rows a list may read without the lane. */
    maxListRows?: number
    /** At least this many bytes of an upload must arrive in each period. */
    minimumUploadRate?: { bytes: number; periodMs: number }
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
  /**
   * Waits for running calls, then stops. Unless `isUrgent`, it first goes on serving for `drainDelayMs`, so that load
   * balancers notice that it is stopping, and send no more calls.
   */
  stop(isUrgent?: boolean): Promise<void>
}

const systemNow = Date.now
/** A list that reads more rows than this would delay other calls by more than about 10 ms. */
const defaultMaxListRows = 5000
/**
 * How long a statement that only reads may take in PostgreSQL. Writes may wait longer for locks, up to the deadline of
 * the call.
 */
const readTimeoutMs = 20_000

export async function startApp(
  config: Config,
  log: Log,
  overrides: Overrides = {},
  role: WorkerRole = onlyWorker(config),
): Promise<App> {
  const store = openStore(config, log, { readTimeoutMs, commits: role.shared.commits })
  try {
    return await openApp(config, log, store, overrides, role)
  } catch (error) {
    await role.close()
    await store.close()
    throw error
  }
}

async function openApp(
  config: Config,
  log: Log,
  store: Store,
  overrides: Overrides,
  role: WorkerRole,
): Promise<App> {
  const { drainTimeoutMs = 30_000, maxListRows = defaultMaxListRows } = overrides
  const core = await openCore(
    {
      ...{ config, log, store, otherThreads: role, maxListRows: role.lane && maxListRows },
      counts: role.shared.backgroundCounts,
    },
    overrides,
  )
  const { corridorOptions, authenticator, refusals, keys, secret, now, random } = core
  const offered = core.endpoints.filter(({ method }) => !method.isInternal)
  role.onOpen(core)
  const { backgroundCounts: counts, deliveryCounts } = role.shared
  const metricsRegistry = openMetricsRegistry(
    () => role.readSeries(core.series),
    () => [
      ...collectionMetrics(counts),
      ...retentionMetrics(counts),
      ...eventMetrics(counts),
      ...deliveryMetrics(deliveryCounts),
    ],
  )
  const streams = openStreams(openStreamCorridor(corridorOptions), systemNow)

  let draining = false
  const isDraining = () => draining
  const plainPaths = {
    ...probePaths({ isDraining, pingStore: () => store.query(sql`select 1`) }),
    ...(config.metricsPort === undefined && metricsPath(metricsRegistry)),
    ...keySetPath(config.authUrl, keys),
    ...referencePaths(config.baseUrl, servicesOf(offered)),
    ...metadataPath(config.baseUrl),
    ...iconPaths(config.authUrl),
  }
  const doorOptions = doorOptionsOf(config, log, refusals)
  const setUpLink = role.isFirst
    ? await makeSetUpLink({ store, states: core.states, authUrl: config.authUrl, random })
    : undefined
  const metrics = role.isFirst
    ? await openMetrics(config, doorOptions, metricsPath(metricsRegistry))
    : undefined
  const corridor = openCorridor(corridorOptions)
  const registryDoor = openRegistryDoor({
    ...{ config, store: core.store, content: core.content, endpoints: core.endpoints },
    corridor: core.registryCorridor,
    now,
    onBody: continueIfAwaited,
    onLongBody: allowLongBody,
    minimumRate: overrides.minimumUploadRate,
    onError: (err) => log.error({ err }, 'a request to the registry failed'),
  })
  const console = openConsole({
    ...{ baseUrl: config.baseUrl, authUrl: config.authUrl },
    loadBundle: overrides.loadBundle ?? loadBundle,
    onError: (err) => log.error({ err }, 'the console cannot be shown'),
  })
  const authzen = openAuthzen({ ...doorOptions, endpoints: core.endpoints, corridor, isDraining })
  const frontDoor = openFrontDoor({ store, baseUrl: config.baseUrl, prefersHtml })
  const doors = await openDoors({
    ...doorOptions,
    ...{ ...authenticator, endpoints: offered, corridor, streams, plainPaths, isDraining },
    ...{ turns: core.turns, knownNetworks: core.knownNetworks, clock: core.clock },
    ...{
      mounts: [registryDoor, authzen, ...core.mounts, console, frontDoor],
      notFoundPage: frontDoor.notFound,
      sharesPort: role.sharesPort,
    },
  }).catch((error: unknown) => {
    metrics?.close()
    throw error
  })
  const sharing = shareLimits({ config, store, log, core, role, intervalMs: overrides.shareIntervalMs })
  const onKeyError = (err: unknown) => log.warn({ err }, 'the signing keys could not be read or rotated')
  const onSealError = (err: unknown) =>
    log.warn({ err }, 'events could not be sealed; the server tries again')
  const collector = role.isFirst
    ? openCollector({ config, store, content: core.content, log, now, clock: core.clock, counts })
    : undefined
  // On the embedded store, only one thread delivers: several would wait for each other's writes.
  const deliverer =
    role.isFirst || store.engine === 'postgres'
      ? startDelivery({ config, store, log, core, counts: deliveryCounts, overrides })
      : undefined
  const stopTasks = [
    maintainKeys(
      { store, secret, tokenAlgorithm: config.tokenAlgorithm, now, random },
      keys,
      () => recordRotation({ origin: systemOrigin('server', 'key rotation', { now, random }) }, false),
      onKeyError,
    ),
    sweepExpiredStates(store, now, log),
    ...(role.isFirst ? [sealRegularly(core.sealer, store, onSealError)] : []),
    ...(role.isFirst
      ? [
          scheduleRetention({ config, store, log, now, counts }).stop,
          scheduleEventRetention({ config, store, log, now, counts }),
        ]
      : []),
    ...(role.isFirst ? [scheduleBindingExpiry(store, log, now).stop] : []),
    loadInAdvance(() => Promise.all(core.mounts.map((mount) => mount.load?.()))),
  ]

  return {
    port: doors.port,
    metricsPort: metrics?.port,
    setUpLink,
    endpoints: offered,
    shareLimits: sharing.exchange,
    deliverEvents: async () => deliverer?.settle(),
    async stop(isUrgent = false) {
      draining = true
      doors.setServing(false)
      if (!isUrgent) await pause(config.drainDelayMs)
      core.sealSignal.close()
      await Promise.all([collector?.stop(), deliverer?.stop()])
      await closeDoors(doors, drainTimeoutMs, async () => {
        streams.abortAll()
        await Promise.all([core.close(), role.close()])
      })
      await Promise.all(stopTasks.map((stopTask) => stopTask()))
      await sharing.stop()
      refusals.flush()
      metrics?.close()
      await store.close()
    },
  }
}

const servicesOf = (endpoints: readonly Endpoint[]) =>
  new Set(endpoints.map(({ method }) => method.desc.parent))

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

/** The door options that do not depend on the store. */
function doorOptionsOf(config: Config, log: Log, refusals: RefusalLog) {
  const { errorDomain, baseUrl, corsOrigins, vendorPrefixes, port, hosts, tls, maxConnections } = config
  const onRejected: OnRejected = (requestId, error, address) => {
    if (error.code === Code.INTERNAL) log.error({ requestId, err: error.cause ?? error }, 'request failed')
    else if (refusals.admit(address, codeName(error.code)))
      log.info({ requestId, reason: error.message }, 'request rejected')
  }
  return {
    ...{ errorDomain, baseUrl, corsOrigins, vendorPrefixes, port, hosts, tls, maxConnections, onRejected },
    addressOf: clientAddress(config.trustedProxies, (peer) =>
      log.warn({ peer }, 'X-Forwarded-For is ignored: its sender is not in STEMMA_TRUSTED_PROXIES'),
    ),
    isProxy: proxyTest(config.trustedProxies),
    requestIds: openRequestIds(randomUUID),
    isHttps: baseUrl.startsWith('https:'),
    now: systemNow,
  }
}

/** Waits for running calls, aborts those that still run after the timeout, then closes all connections. */
async function closeDoors(doors: Doors, drainTimeoutMs: number, abort: () => Promise<void>): Promise<void> {
  const drained = doors.drain()
  await Promise.race([drained, pause(drainTimeoutMs)])
  await abort()
  await Promise.race([drained, pause(abortGraceMs)])
  doors.destroy()
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
