// A whole server on a temporary store and a free port, with one organization and its owner.
import type { App, Overrides } from '../app.ts'
import { startApp } from '../app.ts'
import type { KeyRing } from '../auth/keys/key-ring.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Log } from '../log.ts'
import { openLog } from '../log.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { onlyWorker } from '../worker-role.ts'
import { bundleOnce } from './console-bundle.ts'
import type { TestIdentities, TestIdentity } from './identities.ts'
import { openTestIdentities } from './identities.ts'
import type { Engine } from './stores.ts'
import { preparedStore } from './templates.ts'

export type Platform = TestIdentities & {
  engine: Engine
  app: App
  config: Config
  /** The URL at which the server listens. */
  url: string
  /** A second connection to the same store, as another thread of the server would have. */
  store: Store
  keys: KeyRing
  secret: Secret
  /** The owner of the organization `acme`. */
  owner: TestIdentity
  stop(): Promise<void>
}

const testSettings = [
  ...['--port', '0', '--base-url', 'http://stemma.test'],
  ...['--log-level', 'silent', '--drain-delay', '0'],
]

/** Low, because a hash with the real cost takes 0.2 seconds of CPU time. */
export const passwordCost = { N: 16, r: 8, p: 1 }

export async function startPlatform(
  engine: Engine,
  args: string[] = [],
  overrides: Overrides = {},
  log?: Log,
): Promise<Platform> {
  const temporary = await preparedStore(engine)
  const { config } = readConfig({}, [...temporary.settings, ...testSettings, ...args])
  const role = onlyWorker(config)
  const app = await startApp(
    config,
    log ?? openLog(config.logLevel),
    { passwordCost, loadBundle: bundleOnce, ...overrides },
    role,
  ).catch(async (error: unknown) => {
    await temporary.remove()
    throw error
  })
  const store = openStore(config, undefined, { commits: role.shared.commits })
  const { keys, secret } = await prepareStore(config, store)
  const identities = openTestIdentities({ store, config, keys, now: overrides.now ?? Date.now })
  const scheme = config.tls ? 'https' : 'http'
  return {
    ...{ engine, app, config, store, keys, secret, ...identities },
    url: `${scheme}://127.0.0.1:${app.port}`,
    owner: await identities.addOrganization('acme'),
    async stop() {
      await app.stop(true)
      await store.close()
      await temporary.remove()
    },
  }
}
