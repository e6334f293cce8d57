// Adds people who sign in with a password, resets passwords, signs people out, and disables people.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { isUid, parentOf } from '../aip/uid.ts'
import type { LoginAddress } from '../auth/login/accounts.ts'
import {
  canonicalEmail,
  ensureVouchedAccount,
  findAccount,
  isEmail,
  loginAddressOf,
  makePasswordLink,
  passwordLinkHours,
  setPassword,
} from '../auth/login/accounts.ts'
import { claimantsOf, hashForUnverifiedAddress } from '../auth/login/claimed-accounts.ts'
import type { ExpiringStates } from '../auth/login/expiring-states.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { openPasswords, passwordFault } from '../auth/login/passwords.ts'
import { disablePerson, enablePerson, listDisabled, signOutEverywhere } from '../auth/sign-outs.ts'
import { peopleOf } from '../authentication.ts'
import { readConfig } from '../config/config.ts'
import type { RandomBytes } from '../crypto/random.ts'
import type { Secret } from '../crypto/secret.ts'
import { operatorAccess } from '../policy/system-access.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { withPreparedStore } from './with-store.ts'

export const users: Command = {
  usage: 'users add|reset|sign-out|disable|enable|disabled [EMAIL|IDENTITY_UID] [--password-file FILE|-]',
  summary:
    'Adds a person who signs in with a password, resets the password, signs a person out or disables them.',
  details: `add and reset print a link where the person chooses a password. With --password-file, add and reset set
the password in the file or on standard input (-) instead. reset, sign-out and disable end all sessions and tokens of the
person at once. A disabled person cannot sign in, neither with a password nor through a provider, until enable is run.
disabled lists the people who are disabled.`,
  async run(args, context) {
    const { config, flags, positionals } = readConfig(context.env, args, {
      'password-file': { type: 'string' },
    })
    const [action = '', person = '', ...extra] = positionals
    if (action === 'disabled' && positionals.length === 1)
      return withPreparedStore(config, context, ({ store }) => printDisabled(store, context))
    const act = actions[action]
    if (!act || extra.length > 0) throw usageOf(users)
    if (!isEmail(person) && !(isUid(person) && action !== 'add'))
      throw new UsageError(
        `${JSON.stringify(person)} is not an e-mail address${action === 'add' ? '' : ' or the uid of an identity'}`,
      )
    const password = await readPassword(flags['password-file'], context)
    const { identity, link } = await withPreparedStore(config, context, ({ store, secret }) => {
      const { now, random } = context
      const states = openExpiringStates({ secret, now })
      return act({ store, secret, states, authUrl: config.authUrl, now, random }, person, password)
    })
    context.stdout.write(`${person} is ${identity}\n`)
    if (link !== undefined)
      context.stdout.write(
        `The person can choose a password here, once, within ${passwordLinkHours} hours:\n\n  ${link}\n`,
      )
    return 0
  },
}

type UserDependencies = {
  store: Store
  secret: Secret
  states: ExpiringStates
  authUrl: string
  now(): number
  random: RandomBytes
}

type Result = { identity: string; link?: string }

/** `person` is an e-mail address, or the uid of an identity. */
type Action = (deps: UserDependencies, person: string, password: string | undefined) => Promise<Result>

const actions: Record<string, Action> = {
  ...{ add, reset },
  'sign-out': (deps, person) => changeSignIns(deps, person, signOutEverywhere),
  disable: (deps, person) => changeSignIns(deps, person, disablePerson),
  enable: (deps, person) => changeSignIns(deps, person, enablePerson),
}

async function add(deps: UserDependencies, email: string, password: string | undefined): Promise<Result> {
  const { store, authUrl, now, random } = deps
  const hash = await hashOf(deps, { email, isUnverified: false }, password)
  return store.write(function* () {
    const account = yield* findAccount(email)
    const people = peopleOf({ access: operatorAccess, now, random })
    const identity = yield* ensureVouchedAccount(people, authUrl, email, now())
    if (account?.identity === identity && account.password !== '')
      throw new UsageError(`${email} has a password; use stemmad users reset ${email}`)
    return yield* changePassword(deps, identity, hash)
  })
}

async function reset(deps: UserDependencies, person: string, password: string | undefined): Promise<Result> {
  const { store } = deps
  const { identity, address } = await store.read(() => requireLogin(person))
  const hash = await hashOf(deps, address, password)
  return store.write(() => changePassword(deps, identity, hash))
}

function changeSignIns(
  { store, now }: UserDependencies,
  person: string,
  change: (identity: string, now: number) => Work<void>,
): Promise<Result> {
  return store.write(function* () {
    const identity = isUid(person) ? person : (yield* requireLogin(person)).identity
    if (!(yield* first(sql`select uid from identities where uid = ${identity}`)))
      throw new UsageError(`there is no identity ${identity}`)
    if (parentOf(identity) !== '')
      throw new UsageError(
        `${identity} is a workload, which does not sign in; delete its role bindings instead`,
      )
    yield* change(identity, now())
    return { identity }
  })
}

const maxListedPeople = 1000

async function printDisabled(store: Store, { stdout, stderr }: CommandContext): Promise<number> {
  const people = await store.read(() => listDisabled(maxListedPeople + 1))
  for (const { identity, name, since } of people.slice(0, maxListedPeople))
    stdout.write(`${identity}  ${new Date(since).toISOString()}  ${name}\n`)
  if (people.length > maxListedPeople) stderr.write(`only the first ${maxListedPeople} people are listed\n`)
  return 0
}

/** Sets the password, or returns a link to choose one if there is no hash. */
function* changePassword(deps: UserDependencies, identity: string, hash: string | undefined): Work<Result> {
  if (hash === undefined) return { identity, link: yield* makePasswordLink(deps, identity) }
  yield* setPassword(identity, hash, deps.now())
  return { identity }
}

/** The hash of a password; undefined if there is no password. */
async function hashOf(
  { secret, random }: UserDependencies,
  { email, isUnverified }: LoginAddress,
  password: string | undefined,
): Promise<string | undefined> {
  if (password === undefined) return undefined
  const fault = passwordFault(password, email)
  if (fault) throw new UsageError(`the password ${fault}`)
  const passwords = openPasswords(random)
  return isUnverified
    ? hashForUnverifiedAddress({ passwords, secret }, email, password)
    : passwords.hash(password)
}

const maxListedClaimants = 10

/** Finds the identity of a person and the address with which they sign in. */
function* requireLogin(person: string): Work<{ identity: string; address: LoginAddress }> {
  const identity = isUid(person) ? person : yield* identityOf(person)
  const address = yield* loginAddressOf(identity)
  if (!address) throw new UsageError(`${person} does not sign in with a password`)
  return { identity, address }
}

/** If several people have made accounts with the address, the operator must name one of them by uid instead. */
function* identityOf(email: string): Work<string> {
  const account = yield* findAccount(email)
  if (account) return account.identity
  const [claimant, ...others] = yield* claimantsOf(canonicalEmail(email), maxListedClaimants)
  if (claimant === undefined)
    throw new UsageError(`no one signs in with ${email}; use stemmad users add ${email}`)
  if (others.length > 0)
    throw new UsageError(
      `several people have made accounts with ${email}, which nobody has verified; name one of them by uid: ${[claimant, ...others].join(', ')}`,
    )
  return claimant
}

/** The password is read from a file, because all users of the machine can see the arguments of a command. */
async function readPassword(file: unknown, { stdin }: CommandContext): Promise<string | undefined> {
  if (file === undefined) return undefined
  const content = file === '-' ? await text(stdin) : await readFile(String(file), 'utf8').catch(cannotRead)
  return content.replace(/\r?\n$/, '')
}

function cannotRead(error: Error): never {
  throw new UsageError(`--password-file: ${error.message}`)
}
