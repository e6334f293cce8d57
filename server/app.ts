// The whole program put together.
import { randomBytes } from 'node:crypto'
import type { Registry as Figures } from 'prom-client'
import { openPageSeals } from './aip/page-token.ts'
import { keySetPath } from './auth/keys/key-set-path.ts'
import { maintainKeys } from './auth/keys/rotation.ts'
import { makeSetUpLink } from './auth/login/set-up-link.ts'
import { openAuthenticator } from './auth/tokens/authenticate.ts'
import type { AuthenticationOverrides } from './authentication.ts'
import { openAuthentication, tendStates } from './authentication.ts'
import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import { pooled } from './crypto/random.ts'
import { clientAddress } from './http/client-address.ts'
import type { PlainPaths } from './http/dispatch.ts'
import { dispatch } from './http/dispatch.ts'
import type { OnStray } from './http/door.ts'
import { openGrpc } from './http/grpc.ts'
import { listen } from './http/listen.ts'
import { openRest } from './http/rest/rest.ts'
import { openStreams } from './http/streams.ts'
import type { Log } from './log.ts'
import { referencePaths } from './reference/reference.ts'
import { withStatusErrors } from './resources/store-errors.ts'
import type { Endpoint } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'
import { openReport } from './rpc/report.ts'
import { openStreamCorridor } from './rpc/stream-corridor.ts'
import { endpointsOf } from './services.ts'
import { settingsOf } from './settings.ts'
import { openStore, prepareStore } from './storage.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import { andThen, recover } from './wire/maybe-promise.ts'

/** How long those whose streams were broken off have to hear of it, in milliseconds. */
const lastWords = 1000

/** What may differ in tests. */
export type Overrides = AuthenticationOverrides & { random?: RandomBytes; drainTimeout?: number }

export type App = {
  port: number
  /** Where the first organization is made, while there is none. */
  setUpLink: string | undefined
  endpoints: readonly Endpoint[]
  /** Ends without losing a call under way; at once if `isUrgent`. */
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

async function openApp(config: Config, log: Log, store: Store, overrides: Overrides): Promise<App> {
  const { now = Date.now, random = pooled(randomBytes), drainTimeout = 30_000 } = overrides
  const { keys, secret } = await prepareStore(config, store, { now, random })
  const pages = openPageSeals(keys.page, now, random)
  const settings = settingsOf(config, secret)
  const deps = { store: withStatusErrors(store), pages, now, random, settings }
  const authentication = openAuthentication(config, deps.store, keys, secret, log, overrides)
  const endpoints = endpointsOf({
    ...deps,
    sts: authentication.sts,
    registration: authentication.registration,
  })
  const { report, registry } = openReport(log)
  const authenticate = openAuthenticator(keys, { issuer: config.authUrl, audience: config.baseUrl }, now)
  const corridor = openCorridor(authenticate, report)
  const streams = openStreams(openStreamCorridor(authenticate, report))
  const onStray: OnStray = (requestId, error) =>
    log.info({ requestId, reason: error.message }, 'stray request')
  let isDraining = false

  const { errorDomain, baseUrl, corsOrigins, vendorPrefixes, port, hosts, tls } = config
  const addressOf = clientAddress(config.trustedProxies)
  const grpc = openGrpc({ endpoints, corridor, streams, errorDomain, addressOf, onStray, vendorPrefixes })
  const rest = openRest({
    ...{ endpoints, corridor, streams, errorDomain, baseUrl, corsOrigins, addressOf, onStray },
    isTls: tls !== undefined,
    isDraining: () => isDraining,
  })
  const plain = {
    ...plainPaths(store, registry, () => isDraining),
    ...keySetPath(config.authUrl, keys),
    ...referencePaths(
      baseUrl,
      endpoints.map(({ method }) => method.desc.parent),
    ),
  }
  const stopKeyMaintenance = maintainKeys({ store, secret, now, random }, keys, (err) =>
    log.warn({ err }, 'the keys could not be maintained'),
  )
  const stopForgetting = tendStates(store, now, log)
  const onRequest = dispatch(plain, authentication.login, rest, addressOf)
  const listener = await listen({
    port,
    hosts,
    tls,
    errorDomain,
    onStray,
    onRequest,
    onHttp2: grpc.takeSocket,
  })

  return {
    port: listener.port,
    setUpLink: await makeSetUpLink(store, authentication.states, config.authUrl),
    endpoints,
    async stop(isUrgent = false) {
      isDraining = true
      grpc.setServing(false)
      if (!isUrgent) await pause(config.drainDelay)
      const drained = Promise.all([listener.drain(), grpc.drain()])
      await Promise.race([drained, pause(drainTimeout)])
      streams.cut()
      await Promise.race([drained, pause(lastWords)])
      grpc.destroy()
      listener.destroy()
      stopKeyMaintenance()
      stopForgetting()
      await store.close()
    },
  }
}

function plainPaths(store: Store, registry: Figures, isDraining: () => boolean): PlainPaths {
  return {
    '/healthz': () => text(200, 'ok\n'),
    '/readyz': () => {
      if (isDraining()) return text(503, 'draining\n')
      return recover(
        () => andThen(store.query(sql`select 1`), () => text(200, 'ok\n')),
        () => text(503, 'the store cannot be reached\n'),
      )
    },
    '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
  }
}

const text = (status: number, body: string) => ({ status, type: 'text/plain; charset=utf-8', body })

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
