// A server with the example organization of `stemmad demo`, and a console session of its owner.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../api/testing/free-port.ts'
import { runStemmadInline } from '../../e2e/server/stemmad.ts'
import { startApp } from '../../server/app.ts'
import { openExpiringStates } from '../../server/auth/login/expiring-states.ts'
import { newSignIn } from '../../server/auth/sign-outs.ts'
import { ownerEmail } from '../../server/commands/demo/example.ts'
import { readConfig } from '../../server/config/config.ts'
import { openLog } from '../../server/log.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { sql } from '../../server/store/sql.ts'

export type DemoServer = {
  url: string
  /** The value of the session cookie. */
  cookie: string
  close(): Promise<void>
}

export async function startDemoServer(): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-pictures-'))
  const url = `http://localhost:${await freePort()}`
  const settings = [
    '--data-dir',
    folder,
    '--port',
    new URL(url).port,
    '--base-url',
    url,
    '--log-level',
    'silent',
  ]
  const { code, stderr } = await runStemmadInline(['demo', ...settings])
  if (code !== 0) throw new Error(`the example could not be made: ${stderr}`)
  const { config } = readConfig({}, [...settings, '--drain-delay', '0'])
  const cookie = await storeSession(config)
  const app = await startApp(config, openLog('silent'))
  return {
    ...{ url, cookie },
    async close() {
      await app.stop(true)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function storeSession(config: ReturnType<typeof readConfig>['config']): Promise<string> {
  const store = openStore(config)
  try {
    const { secret } = await prepareStore(config, store)
    const [row] = await store.query(sql`select identity from accounts where email = ${ownerEmail}`)
    const person = String(row?.[0])
    const signIn = await newSignIn(store, person, Date.now())
    const id = randomBytes(32).toString('base64url')
    const states = openExpiringStates({ secret, now: Date.now })
    await store.write(() => states.put('ConsoleSession', id, { signIn }, 3600, { identity: person }))
    return id
  } finally {
    await store.close()
  }
}
