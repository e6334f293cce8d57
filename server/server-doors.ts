// Composition of the doors and of all other paths on the port of the server.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Code, codeName } from './aip/code.ts'
import type { KeyRing } from './auth/keys/key-ring.ts'
import { keySetPath } from './auth/keys/key-set-path.ts'
import type { Config } from './config/config.ts'
import { openConsole } from './console/console.ts'
import { loadBundle } from './console/load-bundle.ts'
import type { Core } from './core.ts'
import { openFrontDoor } from './front-door/front-door.ts'
import { iconPaths } from './front-door/icons.ts'
import { openAuthzen } from './http/authzen/door.ts'
import { metadataPath } from './http/authzen/metadata.ts'
import { clientAddress, proxyTest } from './http/client-address.ts'
import type { Mount } from './http/dispatch.ts'
import { continueIfAwaited } from './http/dispatch.ts'
import type { OnRejected } from './http/door.ts'
import type { Doors, DoorsOptions } from './http/doors.ts'
import { openDoors } from './http/doors.ts'
import { allowLongBody } from './http/listen/long-bodies.ts'
import type { PlainPaths } from './http/plain-paths.ts'
import { prefersHtml } from './http/prefers-html.ts'
import { probePaths } from './http/probes.ts'
import { openRequestIds } from './http/request-id.ts'
import { openStreams } from './http/streams.ts'
import type { Log } from './log.ts'
import { referencePaths } from './reference/reference.ts'
import { openRegistryDoor } from './registry-door.ts'
import type { Endpoint } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'
import type { RefusalLog } from './rpc/refusal-log.ts'
import { openStreamCorridor } from './rpc/stream-corridor.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import type { WorkerRole } from './worker-role.ts'

/** How long clients of aborted streams have to receive the error, in milliseconds. */
const abortGraceMs = 1000

/** Dependencies and limits that tests replace. */
export type DoorOverrides = {
  /** How long a stopping server waits for running calls, in milliseconds. */
  drainTimeoutMs?: number
  /** Loads the files of the console. */
  loadBundle?: typeof loadBundle
  /** At least this many bytes of an upload must arrive in each period. */
  minimumUploadRate?: { bytes: number; periodMs: number }
}

type ServerDoorsOptions = {
  config: Config
  log: Log
  store: Store
  core: Core
  role: Pick<WorkerRole, 'sharesPort'>
  options: ReturnType<typeof doorOptionsOf>
  /** The methods that clients can call, without internal ones. */
  offered: readonly Endpoint[]
  /** See `plainPathsOf`. */
  plainPaths: PlainPaths
  runFor: DoorsOptions<Endpoint>['runFor']
  overrides: DoorOverrides
}

export type ServerDoors = {
  port: number
  /** Tells load balancers that the server stops. Calls are still served. */
  startDraining(): void
  /**
   * Waits for running calls, aborts those that still run after the timeout, then closes all connections. Streams are
   * aborted here, and the other calls by `abort`.
   */
  close(abort: () => Promise<unknown>): Promise<void>
}

const systemNow = Date.now

export async function openServerDoors(deps: ServerDoorsOptions): Promise<ServerDoors> {
  const { config, store, core, options, offered, overrides } = deps
  const { drainTimeoutMs = 30_000 } = overrides
  const { authenticator, corridorOptions, turns, knownNetworks, clock } = core
  const streams = openStreams(openStreamCorridor(corridorOptions), systemNow)
  const corridor = openCorridor(corridorOptions)
  let draining = false
  const isDraining = () => draining
  const probes = probePaths({ isDraining, pingStore: () => store.query(sql`select 1`) })
  const authzen = openAuthzen({ ...options, endpoints: core.endpoints, corridor, isDraining })
  const frontDoor = openFrontDoor({ store, baseUrl: config.baseUrl, prefersHtml })
  const doors = await openDoors({
    ...options,
    ...{ ...authenticator, endpoints: offered, corridor, streams, isDraining },
    ...{ turns, knownNetworks, clock, runFor: deps.runFor },
    plainPaths: { ...probes, ...deps.plainPaths },
    mounts: [registryDoorOf(deps), authzen, ...core.mounts, consoleOf(deps), frontDoor],
    notFoundPage: frontDoor.notFound,
    sharesPort: deps.role.sharesPort,
  })
  return {
    port: doors.port,
    startDraining() {
      draining = true
      doors.setServing(false)
    },
    close: (abort) =>
      closeDoors(doors, drainTimeoutMs, async () => {
        streams.abortAll()
        await abort()
      }),
  }
}

/** All plain paths except the probes. It includes `metricsPaths` unless the metrics have a port of their own. */
export function plainPathsOf(
  config: Config,
  keys: KeyRing,
  offered: readonly Endpoint[],
  metricsPaths: PlainPaths,
): PlainPaths {
  const services = new Set(offered.map(({ method }) => method.desc.parent))
  return {
    ...(config.metricsPort === undefined && metricsPaths),
    ...keySetPath(config.authUrl, keys),
    ...referencePaths(config.baseUrl, services),
    ...metadataPath(config.baseUrl),
    ...iconPaths(config.authUrl),
  }
}

const registryDoorOf = ({ config, log, core, overrides }: ServerDoorsOptions): Mount =>
  openRegistryDoor({
    ...{ config, store: core.store, content: core.content, endpoints: core.endpoints },
    corridor: core.registryCorridor,
    now: core.now,
    onBody: continueIfAwaited,
    onLongBody: allowLongBody,
    minimumRate: overrides.minimumUploadRate,
    onError: (err) => log.error({ err }, 'a request to the registry failed'),
  })

const consoleOf = ({ config, log, overrides }: ServerDoorsOptions): Mount =>
  openConsole({
    ...{ baseUrl: config.baseUrl, authUrl: config.authUrl },
    loadBundle: overrides.loadBundle ?? loadBundle,
    onError: (err) => log.error({ err }, 'the console cannot be shown'),
  })

/** The door options that do not depend on the store. */
export function doorOptionsOf(config: Config, log: Log, refusals: RefusalLog) {
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
    onGrpcFailure: (err: unknown) => log.error({ err }, 'a gRPC connection failed'),
  }
}

async function closeDoors(doors: Doors, drainTimeoutMs: number, abort: () => Promise<void>): Promise<void> {
  const drained = doors.drain()
  await Promise.race([drained, pause(drainTimeoutMs, undefined, { ref: false })])
  await abort()
  await Promise.race([drained, pause(abortGraceMs, undefined, { ref: false })])
  doors.destroy()
}
