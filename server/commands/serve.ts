import type { App } from '../app.ts'
import { makeRsaKeyEarly } from '../auth/keys/rsa-key.ts'
import { onNpmShellEnd } from '../bin/npm-shell.mjs'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { Log } from '../log.ts'
import { openLog } from '../log.ts'
import { hasStoreFile } from '../store/sqlite/store-file.ts'
import { lowerPriorityOfV8 } from '../threads/priority.ts'
import { resetHeapFlags } from '../threads/young-generation.ts'
import type { SharedState } from '../workers/shared-state.ts'
import { makeSharedState } from '../workers/shared-state.ts'
import type { Command } from './command.ts'
import { usageOf } from './command.ts'
import { exposeGarbageCollector } from './v8-garbage-collector.ts'

export const serve: Command = async (args, context) => {
  const { env } = context
  resetHeapFlags()
  const { config, positionals } = readConfig(env, args)
  if (positionals.length > 0) throw usageOf('serve')
  const shared = makeSharedState()
  const log = openLog(config.logLevel, { outputLock: shared.outputLock })
  if (config.content.driver === 's3') {
    const warning = await (await import('../content-storage.ts')).checkContent(config)
    if (warning !== undefined) config.warnings.push(warning)
  }
  const app = await start(config, log, shared)
  lowerPriorityOfV8()
  setTimeout(() => exposeGarbageCollector()(), collectionDelayMs).unref()
  const stopped = stopSignal(env)
  for (const warning of config.warnings) log.warn(warning)
  context.stdout.write(greeting(config, app))
  const signal = await stopped
  log.info({ signal }, 'stopping')
  // On Ctrl-C there is no load balancer to wait for.
  await app.stop(signal === 'SIGINT')
  log.flush()
  return 0
}

/**
 * Loading the modules leaves 20 MB of garbage, which V8 would keep as long as the server is idle. It is collected once,
 * in about 40 ms, after this delay. By then, the first calls of clients that waited for the server are answered.
 */
const collectionDelayMs = 2000

/** Loads the server only now, because other commands start faster without it. */
async function start(config: Config, log: Log, shared: SharedState): Promise<Running> {
  if (config.workers === 1) {
    // A new store needs an RSA key. It is made in another thread while this one loads the server.
    const isNewStore = !config.databaseUrl && !hasStoreFile(config.dataDir)
    const makeRsaKey = isNewStore ? makeRsaKeyEarly() : undefined
    const { startApp } = await import('../app.ts')
    const { onlyWorker } = await import('../worker-role.ts')
    return startApp(config, log, { makeRsaKey }, onlyWorker(config, shared))
  }
  // Workers check the default limits as well, but an error in a worker would be logged as a fault of the server, not
  // reported as a wrong setting.
  if (config.defaultLimits.length > 0) (await import('../settings.ts')).groupLimitsOf(config)
  return (await import('../start-workers.ts')).startServerWithWorkers(config, log, shared)
}

type Running = Pick<App, 'port' | 'metricsPort' | 'setUpLink' | 'stop'>

/**
 * A service manager may signal a whole process group, and npm and the launcher forward their signals, so one request to
 * stop can arrive as several signals. A signal is a second request only if more than this time has passed since
 * the first.
 */
const duplicateSignalMs = 500

/** Resolves with the first signal; a second request ends the process. */
function stopSignal(env: NodeJS.ProcessEnv, nowMs = () => performance.now()): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    onNpmShellEnd(env, () => resolve('SIGTERM'))
    let firstMs = Number.POSITIVE_INFINITY
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (nowMs() - firstMs > duplicateSignalMs) process.exit(1)
        firstMs = Math.min(firstMs, nowMs())
        resolve(signal)
      })
    }
  })
}

function greeting(config: Config, { port, metricsPort, setUpLink }: Running): string {
  const store = config.databaseUrl ? 'PostgreSQL' : `the embedded store in ${config.dataDir}`
  const addresses = config.hosts.map((host) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
  const warnings = config.warnings.map((warning) => `Warning: ${warning}.\n`).join('')
  return `
Stemma serves ${config.baseUrl} (on ${addresses.join(' and ')}), with ${store}.
REST and gRPC share the port; /healthz, /readyz and /metrics${metricsPort === undefined ? '' : ` (on port ${metricsPort})`} report the state of the server.
${warnings}${setUpLink === undefined ? '' : firstSteps(setUpLink)}
Stop with Ctrl-C.
`
}

const firstSteps = (setUpLink: string) => `
There are no users yet. Create the first organization and its owner in a browser (the link works once, for a day):

  ${setUpLink}

or in another terminal, with the same settings as this server (flags and environment variables):

  npx @stemma/server bootstrap --org my-org
`
