// People who sign in with a password, as the operator adds them and helps them back in.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import {
  findAccount,
  isEmail,
  makePasswordLink,
  passwordLinkHours,
  setPassword,
  vouchFor,
} from '../auth/login/accounts.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { openPasswords, passwordFault } from '../auth/login/passwords.ts'
import { peopleOf } from '../authentication.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccess } from '../policy/system-access.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

export const users: Command = {
  usage: 'users add|reset EMAIL [--password-file FILE|-]',
  about: 'Adds a person who signs in with a password, or resets it; prints a link at which they choose one.',
  async run(args) {
    const { config, flags, rest } = readConfig(process.env, args, { 'password-file': { type: 'string' } })
    const [action, email = '', ...more] = rest
    if ((action !== 'add' && action !== 'reset') || more.length > 0)
      throw new UsageError(`Usage: stemmad ${users.usage}`)
    if (!isEmail(email)) throw new UsageError(`${JSON.stringify(email)} is no e-mail address`)
    const password = await passwordFrom(flags['password-file'], email)
    const hash = password === undefined ? undefined : await openPasswords(randomBytes).hash(password)
    const store = openStore(config)
    try {
      const { secret } = await prepareStore(config, store)
      const deps = { access: operatorAccess, now: Date.now, random: randomBytes }
      const states = openExpiringStates({ ...deps, secret })
      const { identity, link } = await store.write(function* () {
        const known = yield* findAccount(email)
        if (action === 'reset' && !known)
          throw new UsageError(`nobody signs in with ${email}; stemmad users add`)
        const identity =
          action === 'reset' && known
            ? known.identity
            : yield* vouchFor(peopleOf(deps), config.authUrl, email, Date.now())
        const hasPassword = action === 'add' && known?.identity === identity && known.password !== ''
        if (hasPassword) throw new UsageError(`${email} is there already; stemmad users reset ${email}`)
        if (hash === undefined)
          return {
            identity,
            link: yield* makePasswordLink({ ...deps, states, authUrl: config.authUrl }, identity),
          }
        yield* setPassword(identity, hash, Date.now())
        return { identity, link: undefined }
      })
      process.stdout.write(`${email} is ${identity}\n`)
      if (link !== undefined)
        process.stdout.write(
          `They choose a password here, once, within ${passwordLinkHours} hours:\n\n  ${link}\n`,
        )
      return 0
    } finally {
      await store.close()
    }
  },
}

/** From a file or from what is piped in, never from the command line, where everybody on the machine sees it. */
async function passwordFrom(file: unknown, email: string): Promise<string | undefined> {
  if (file === undefined) return undefined
  const given =
    file === '-' ? await text(process.stdin) : await readFile(String(file), 'utf8').catch(unreadable)
  const password = given.replace(/\r?\n$/, '')
  const fault = passwordFault(password, email)
  if (fault) throw new UsageError(`the password ${fault}`)
  return password
}

function unreadable(error: Error): never {
  throw new UsageError(`--password-file: ${error.message}`)
}
