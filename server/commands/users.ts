// Adds people who sign in with a password, and resets passwords.
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
import type { ExpiringStates } from '../auth/login/expiring-states.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { openPasswords, passwordFault } from '../auth/login/passwords.ts'
import { peopleOf } from '../authentication.ts'
import { readConfig } from '../config/config.ts'
import type { RandomBytes } from '../crypto/random.ts'
import { operatorAccess } from '../policy/system-access.ts'
import type { Work } from '../store/work.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { withPreparedStore } from './with-store.ts'

export const users: Command = {
  usage: 'users add|reset EMAIL [--password-file FILE|-]',
  summary: 'Adds a person who signs in with a password, or resets the password.',
  details: `Prints a link where the person chooses a password. With --password-file, it sets the password that the file or
standard input (-) contains.`,
  async run(args, context) {
    const { config, flags, rest } = readConfig(context.env, args, { 'password-file': { type: 'string' } })
    const [action, email = '', ...more] = rest
    if ((action !== 'add' && action !== 'reset') || more.length > 0) throw usageOf(users)
    if (!isEmail(email)) throw new UsageError(`${JSON.stringify(email)} is not an e-mail address`)
    const password = await readPassword(flags['password-file'], email, context)
    const hash = password === undefined ? undefined : await openPasswords(context.random).hash(password)
    const { identity, link } = await withPreparedStore(config, context, ({ store, secret }) => {
      const { now, random } = context
      const states = openExpiringStates({ secret, now })
      const deps = { states, authUrl: config.authUrl, now, random }
      return store.write(() => changePassword(deps, action, email, hash))
    })
    context.stdout.write(`${email} is ${identity}\n`)
    if (link !== undefined)
      context.stdout.write(
        `The person can choose a password here, once, within ${passwordLinkHours} hours:\n\n  ${link}\n`,
      )
    return 0
  },
}

type UserDependencies = {
  states: ExpiringStates
  authUrl: string
  now(): number
  random: RandomBytes
}

/** Sets the password, or returns a link to choose one if there is no hash. */
function* changePassword(
  deps: UserDependencies,
  action: 'add' | 'reset',
  email: string,
  hash: string | undefined,
): Work<{ identity: string; link?: string }> {
  const { authUrl, now, random } = deps
  const account = yield* findAccount(email)
  if (action === 'reset' && !account)
    throw new UsageError(`no one signs in with ${email}; use stemmad users add ${email}`)
  const identity =
    action === 'reset' && account
      ? account.identity
      : yield* vouchFor(peopleOf({ access: operatorAccess, now, random }), authUrl, email, now())
  const hasPassword = account?.identity === identity && account.password !== ''
  if (action === 'add' && hasPassword)
    throw new UsageError(`${email} has a password; use stemmad users reset ${email}`)
  if (hash === undefined) return { identity, link: yield* makePasswordLink(deps, identity) }
  yield* setPassword(identity, hash, now())
  return { identity }
}

/** Read from a file, because all users of the machine can see the arguments of a command. */
async function readPassword(
  file: unknown,
  email: string,
  { stdin }: CommandContext,
): Promise<string | undefined> {
  if (file === undefined) return undefined
  const content = file === '-' ? await text(stdin) : await readFile(String(file), 'utf8').catch(cannotRead)
  const password = content.replace(/\r?\n$/, '')
  const fault = passwordFault(password, email)
  if (fault) throw new UsageError(`the password ${fault}`)
  return password
}

function cannotRead(error: Error): never {
  throw new UsageError(`--password-file: ${error.message}`)
}
