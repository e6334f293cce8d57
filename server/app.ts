// Composes the whole server.
import { randomBytes, randomUUID } from 'node:crypto'
import { codeName } from './aip/code.ts'
import { openPageSeals } from './aip/page-token.ts'
import { keySetPath } from './auth/keys/key-set-path.ts'
import { maintainKeys } from './auth/keys/rotation.ts'
import { makeSetUpLink } from './auth/login/set-up/set-up-link.ts'
import { openAuthenticator } from './auth/tokens/authenticate.ts'
import type { AuthenticationOverrides } from './authentication.ts'
import { openAuthentication, sweepExpiredStates } from './authentication.ts'
import { openChecks } from './checks.ts'
import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import { pooled } from './crypto/random.ts'
import { clientAddress, proxyTest } from './http/client-address.ts'
import type { DoorOptions, OnRejected } from './http/door.ts'
import type { Doors } from './http/doors.ts'
import { openDoors } from './http/doors.ts'
import type { MetricsListener } from './http/metrics-listener.ts'
import { listenForMetrics } from './http/metrics-listener.ts'
import type { PlainPaths } from './http/plain-paths.ts'
import { metricsPath, probePaths } from './http/probes.ts'
import { openRequestIds } from './http/request-id.ts'
import { openStreams } from './http/streams.ts'
import type { Log } from './log.ts'
import { openGrantParser } from './policy/grants.ts'
import { referencePaths } from './reference/reference.ts'
import { openIdempotency } from './resources/idempotency/idempotency.ts'
import { withStatusErrors } from './resources/store-errors.ts'
import type { Endpoint } from './rpc/call.ts'
import type { CorridorOptions } from './rpc/corridor.ts'
import { openCorridor } from './rpc/corridor.ts'
import { openDeadlines } from './rpc/deadline.ts'
import type { RefusalLog, RefusalLogOptions } from './rpc/refusal-log.ts'
import { openRefusalLog } from './rpc/refusal-log.ts'
import { openReport } from './rpc/report.ts'
import { openStreamCorridor } from './rpc/stream-corridor.ts'
import { openUnsentBudget } from './rpc/unsent-budget.ts'
import { endpointsOf } from './services.ts'
import { settingsOf } from './settings.ts'
import { openStore, prepareStore } from './storage.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import type { PoolOptions } from './threads/pool.ts'

/** How long clients of aborted streams have to receive the error, in milliseconds. */
const abortGraceMs = 1000

/** Dependencies and limits that tests replace. */
export type Overrides = AuthenticationOverrides & {
  now?: () => number
  random?: RandomBytes
  checkLimits?: Partial<PoolOptions>
  refusalLog?: Partial<RefusalLogOptions>
  /** How long a stopping server waits for running calls, in milliseconds. */
  drainTimeoutMs?: number
  /** Bytes of large responses that may wait for their clients. */
  unsentLimits?: { perCaller: number; total: number }
}

export type App = {
  port: number
  /** The port that serves /metrics, if it is not `port`. */
  metricsPort: number | undefined
  /** The page that creates the first organization; undefined if an organization exists. */
  setUpLink: string | undefined
  endpoints: readonly Endpoint[]
  /**
   * Waits for running calls, then stops. Unless `isUrgent`, it first goes on serving for `drainDelayMs`, so that load
   * balancers notice that it is stopping, and send no more calls.
   */
  stop(isUrgent?: boolean): Promise<void>
}

export async function startApp(config: Config, log: Log, overrides: Overrides = {}): Promise<App> {
  const store = openStore(config, log)
  try {
    return await openApp(config, log, store, overrides)
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Deadlines follow the system clock even in tests that replace `now`: grpc-js and the store read it too. */
const systemNow = Date.now
const monotonicNow = () => performance.now()

async function openApp(config: Config, log: Log, store: Store, overrides: Overrides): Promise<App> {
  const { now = Date.now, random = pooled(randomBytes), drainTimeoutMs = 30_000 } = overrides
  const { keys, secret } = await prepareStore(config, store, { now, random })
  const pages = openPageSeals(keys.page, now, random)
  const checks = openChecks(overrides.checkLimits)
  const settings = settingsOf(config, secret)
  const idempotency = openIdempotency({ secret, now })
  const deps = { store: withStatusErrors(store), pages, now, random, settings, checks, idempotency }
  const refusals = openRefusalLog(log, overrides.refusalLog)
  const { sts, registration, login, states } = openAuthentication(
    { config, store: deps.store, keys, secret, log, refusals, now, random, runMatch: checks.match },
    overrides,
  )
  const deadlines = openDeadlines(systemNow)
  const unsent = openUnsentBudget(overrides.unsentLimits)
  const endpoints = endpointsOf({ ...deps, sts, registration, deadlines, unsent })
  const { report, registry } = openReport(log, refusals)
  const parties = { issuer: config.authUrl, audience: config.baseUrl }
  const authenticate = openAuthenticator(keys, parties, now)
  const { corridor, streams } = openCorridors({
    parseGrants: openGrantParser(),
    clock: monotonicNow,
    ...{ authenticate, report, deadlines, unsent },
  })

  let draining = false
  const isDraining = () => draining
  const plainPaths = {
    ...probePaths({ isDraining, pingStore: () => store.query(sql`select 1`) }),
    ...(config.metricsPort === undefined && metricsPath(registry)),
    ...keySetPath(config.authUrl, keys),
    ...referencePaths(config.baseUrl, servicesOf(endpoints)),
  }
  const doorOptions = doorOptionsOf(config, log, refusals)
  const setUpLink = await makeSetUpLink({ store, states, authUrl: config.authUrl, random })
  const metrics = await openMetrics(config, doorOptions, metricsPath(registry))
  const doors = await openDoors({
    ...doorOptions,
    ...{ endpoints, corridor, streams, authenticate, plainPaths, mount: login, isDraining },
  }).catch((error: unknown) => {
    metrics?.close()
    throw error
  })
  const onKeyError = (err: unknown) => log.warn({ err }, 'the signing keys could not be read or rotated')
  const stopTasks = [
    maintainKeys({ store, secret, now, random }, keys, onKeyError),
    sweepExpiredStates(store, now, log),
  ]

  return {
    port: doors.port,
    metricsPort: metrics?.port,
    setUpLink,
    endpoints,
    async stop(isUrgent = false) {
      draining = true
      doors.setServing(false)
      if (!isUrgent) await pause(config.drainDelayMs)
      await closeDoors(doors, drainTimeoutMs, () => {
        streams.abortAll()
        return checks.close()
      })
      for (const stopTask of stopTasks) stopTask()
      refusals.flush()
      metrics?.close()
      await store.close()
    },
  }
}

const openCorridors = (options: CorridorOptions) => ({
  corridor: openCorridor(options),
  streams: openStreams(openStreamCorridor(options), systemNow),
})

const servicesOf = (endpoints: readonly Endpoint[]) =>
  new Set(endpoints.map(({ method }) => method.desc.parent))

/** Undefined if the main port serves /metrics. */
async function openMetrics(
  { metricsPort, hosts }: Config,
  options: Pick<DoorOptions, 'requestIds' | 'isHttps'>,
  paths: PlainPaths,
): Promise<MetricsListener | undefined> {
  return metricsPort === undefined
    ? undefined
    : listenForMetrics({ ...options, port: metricsPort, hosts }, paths)
}

/** The options of the doors that do not depend on the store. */
function doorOptionsOf(config: Config, log: Log, refusals: RefusalLog) {
  const { errorDomain, baseUrl, corsOrigins, vendorPrefixes, port, hosts, tls, maxConnections } = config
  const onRejected: OnRejected = (requestId, error, address) => {
    if (refusals.admit(address, codeName(error.code)))
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
