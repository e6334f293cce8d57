import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import { openLog } from '../log.ts'
import type { Command } from './command.ts'

export const serve: Command = {
  usage: 'serve',
  about: 'Serves REST and gRPC on one port until it is told to stop.',
  async run(args) {
    const { config } = readConfig(process.env, args)
    // Other commands do without the doors and all that stands behind them.
    const { startApp } = await import('../app.ts')
    const log = openLog(config.logLevel)
    const app = await startApp(config, log)
    const stopped = stopSignal()
    for (const warning of config.warnings) log.warn(warning)
    process.stdout.write(greeting(config, app))
    const signal = await stopped
    log.info({ signal }, 'stopping')
    // Whoever presses Ctrl-C watches, and waits for no load balancer.
    await app.stop(signal === 'SIGINT')
    log.flush()
    return 0
  },
}

/** A supervisor signals the launcher and this process alike, and the launcher passes its signal on. */
const sameBreath = 500

/** The first signal asks, the second insists. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = Number.POSITIVE_INFINITY
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (performance.now() - asked > sameBreath) process.exit(1)
        asked = Math.min(asked, performance.now())
        resolve(signal)
      })
    }
  })
}

function greeting(config: Config, { port, setUpLink }: App): string {
  const store = config.databaseUrl ? 'PostgreSQL' : `the embedded store in ${config.dataDir}`
  const addresses = config.hosts.map((host) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
  return `
Stemma serves ${config.baseUrl} (on ${addresses.join(' and ')}), with ${store}.
REST and gRPC share the port; /healthz, /readyz and /metrics tell how it is.
${config.warnings.map((warning) => `Warning: ${warning}.\n`).join('')}${setUpLink === undefined ? '' : firstSteps(setUpLink)}
Stop with Ctrl-C.
`
}

const firstSteps = (setUpLink: string) => `
Nobody is here yet. Make the first organization and its owner in a browser (good once, for a day):

  ${setUpLink}

or without one, in another terminal:

  npx stemmad bootstrap --org my-org
`
