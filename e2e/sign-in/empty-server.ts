// A server without an organization. The app that `start` returns has the link to set it up (`setUpLink`).
import { startApp } from '@stemma/server/app.ts'
import { readConfig } from '@stemma/server/config/config.ts'
import { openLog } from '@stemma/server/log.ts'
import { bundleOnce } from '@stemma/server/testing/console-bundle.ts'
import { passwordCost } from '@stemma/server/testing/platform.ts'
import type { Engine } from '@stemma/server/testing/stores.ts'
import { preparedStore } from '@stemma/server/testing/templates.ts'
import { freePort } from '../../api/testing/free-port.ts'

/** The returned `args` are flags with which commands of stemmad use the store of this server. */
export async function emptyServer(engine: Engine) {
  const temporary = await preparedStore(engine)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const args = [...temporary.settings, '--port', String(port), '--base-url', url, '--log-level', 'silent']
  const { config } = readConfig({}, [...args, '--drain-delay', '0'])
  const start = () => startApp(config, openLog('silent'), { loadBundle: bundleOnce, passwordCost })
  return { url, start, args, remove: temporary.remove }
}
