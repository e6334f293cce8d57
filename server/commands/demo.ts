// Fills an empty store with an example organization, for newcomers, screenshots and tests of the console.
import { startApp } from '../app.ts'
import { recordAccountEvent } from '../auth/administration/administration.ts'
import { addOperator } from '../auth/administration/operators.ts'
import { makePasswordLink, passwordLinkHours } from '../auth/login/accounts.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import { openLog } from '../log.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { openActors } from './demo/actors.ts'
import { createExample, organizationName, ownerEmail } from './demo/example.ts'
import { withStore } from './with-store.ts'

export const demo: Command = async (args, context) => {
  const { config, positionals } = readConfig(context.env, args)
  if (positionals.length > 0) throw usageOf('demo')
  const link = await withStore(config, (store) => fill(config, store, context))
  context.stdout.write(`The organization ${organizationName} is ready. Its owner is ${ownerEmail}.
Start stemmad serve, then choose a password here, once, within ${passwordLinkHours} hours from now:

  ${link}

Then sign in at ${config.baseUrl}/console/
`)
  return 0
}

const dayMs = 24 * 60 * 60 * 1000
/** The age of the first calls. It must be below the 90 days after which keys are rotated: the keys have the same age. */
const exampleMs = 21 * dayMs

const command = 'stemmad demo'

async function fill(config: Config, store: Store, context: CommandContext): Promise<string> {
  const { random } = context
  let time = context.now() - exampleMs
  const now = () => time
  await prepareStore(config, store, { now, random })
  await requireEmpty(store)
  // The example is created by calls to a real server on a port of its own, so that every rule holds and the audit log is
  // complete.
  const app = await startApp({ ...config, ...privatePort }, openLog('silent'), {
    ...{ now, random, deliversInBackground: false },
  })
  try {
    const { keys } = await prepareStore(config, store, { now, random })
    const url = `http://127.0.0.1:${app.port}`
    const access = operatorAccessFor(command, { now, random })
    const actors = openActors({ store, config, keys, url, access, now, random })
    const wait = (days: number) => {
      time = Math.min(time + days * dayMs, context.now())
    }
    await createExample(actors, wait)
    time = context.now()
    await store.write(() => addOperator(access, actors.uidOf(ownerEmail), time))
    return await passwordLinkOf(config, store, actors.uidOf(ownerEmail), context)
  } finally {
    await app.stop(true)
  }
}

/** Only programs on this machine can connect, and only by plain HTTP. */
const privatePort = { port: 0, hosts: ['127.0.0.1'], tls: undefined, metricsPort: undefined, drainDelayMs: 0 }

async function requireEmpty(store: Store): Promise<void> {
  const [organization] = await store.query(sql`select uid from groups limit 1`)
  const [person] = await store.query(sql`select identity from accounts limit 1`)
  if (organization || person)
    throw new UsageError(
      'the store is not empty; the example needs a store without organizations and people, such as another --data-dir',
    )
}

async function passwordLinkOf(
  config: Config,
  store: Store,
  owner: string,
  context: CommandContext,
): Promise<string> {
  const { now, random } = context
  const { secret } = await prepareStore(config, store, context)
  const states = openExpiringStates({ secret, now })
  return store.write(function* () {
    yield* recordAccountEvent(operatorAccessFor(command), owner, 'password-reset')
    return yield* makePasswordLink({ states, authUrl: config.authUrl, now, random }, owner)
  })
}
