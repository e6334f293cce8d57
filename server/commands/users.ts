// Adds people who sign in with a password, lists people, resets passwords and second factors, disables and removes people.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { isUid } from '../aip/uid.ts'
import type { Administration, AdministrationDependencies } from '../auth/administration/administration.ts'
import { openAdministration, recordAccountEvent } from '../auth/administration/administration.ts'
import { findLogin } from '../auth/administration/find-person.ts'
import type { ListedPerson, PeopleQuery } from '../auth/administration/list-people.ts'
import { listPeople } from '../auth/administration/list-people.ts'
import type { LoginAddress } from '../auth/login/accounts.ts'
import {
  ensureVouchedAccount,
  findAccount,
  isEmail,
  passwordLinkHours,
  setPassword,
} from '../auth/login/accounts.ts'
import { hashForUnverifiedAddress } from '../auth/login/claimed-accounts.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { openPasswords, passwordFault } from '../auth/login/passwords.ts'
import { peopleOf } from '../authentication.ts'
import { readConfig } from '../config/config.ts'
import type { Secret } from '../crypto/secret.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { Store } from '../store/db.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { throwUsageError } from './throw-usage-error.ts'
import { withPreparedStore } from './with-store.ts'

export const users: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, {
    'password-file': { type: 'string' },
  })
  const [action = '', person = '', ...extra] = positionals
  if (extra.length > 0) throw usageOf('users')
  if (flags['password-file'] !== undefined && action !== 'add' && action !== 'reset')
    throw new UsageError('--password-file is only for add and reset')
  const query = queryOf(action, person)
  if (query) return withPreparedStore(config, context, ({ store }) => printPeople(store, query, context))
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!act) throw usageOf('users')
  if (!isEmail(person) && !(isUid(person) && action !== 'add'))
    throw new UsageError(
      `${JSON.stringify(person)} is not an e-mail address${action === 'add' ? '' : ' or the uid of an identity'}`,
    )
  const password = await readPassword(flags['password-file'], context)
  const { identity, link } = await withPreparedStore(config, context, ({ store, secret }) => {
    const { now, random } = context
    const states = openExpiringStates({ secret, now })
    const access = operatorAccessFor(`stemmad users ${action}`)
    return act({ store, secret, states, authUrl: config.authUrl, now, random, access }, person, password)
  }).catch(throwUsageError)
  context.stdout.write(`${person} is ${identity}\n`)
  if (link !== undefined)
    context.stdout.write(
      `The person can choose a password here, once, within ${passwordLinkHours} hours:\n\n  ${link}\n`,
    )
  return 0
}

/** The people that an action lists; undefined if it lists none. */
function queryOf(action: string, text: string): Omit<PeopleQuery, 'limit'> | undefined {
  if (action === 'list') return { search: text }
  return action === 'disabled' ? { search: text, isDisabled: true } : undefined
}

type UserDependencies = AdministrationDependencies & {
  store: Store
  secret: Secret
  access: WriteAccess
}

type Result = { identity: string; link?: string }

/** `person` is an e-mail address, or the uid of an identity. */
type Action = (deps: UserDependencies, person: string, password: string | undefined) => Promise<Result>

const actions: Record<string, Action> = {
  ...{ add, reset },
  'reset-second-factors': changeBy(({ resetSecondFactors }) => resetSecondFactors),
  'sign-out': changeBy(({ signOut }) => signOut),
  disable: changeBy(({ disable }) => disable),
  enable: changeBy(({ enable }) => enable),
  remove: (deps, person) =>
    deps.store.write(function* () {
      const identity = yield* openAdministration(deps).remove(peopleOf(deps), deps.access, person)
      return { identity }
    }),
}

async function add(deps: UserDependencies, email: string, password: string | undefined): Promise<Result> {
  const { store, authUrl, now } = deps
  const hash = await hashOf(deps, { email, isUnverified: false }, password)
  return store.write(function* () {
    const account = yield* findAccount(email)
    const identity = yield* ensureVouchedAccount(peopleOf(deps), authUrl, email, now())
    if (account?.identity === identity && account.password !== '')
      throw new UsageError(`${email} has a password; use stemmad users reset ${email}`)
    return yield* changePassword(deps, identity, hash)
  })
}

async function reset(deps: UserDependencies, person: string, password: string | undefined): Promise<Result> {
  const { store } = deps
  const { identity, address } = await store.read(() => findLogin(person))
  const hash = await hashOf(deps, address, password)
  return store.write(() => changePassword(deps, identity, hash))
}

/** An action that needs only the person. */
function changeBy(choose: (administration: Administration) => Administration['disable']): Action {
  return (deps, person) =>
    deps.store.write(function* () {
      return { identity: yield* choose(openAdministration(deps))(deps.access, person) }
    })
}

const maxListedPeople = 1000

/** Each line has the uid, the address, the name and the state of a person. */
async function printPeople(
  store: Store,
  query: Omit<PeopleQuery, 'limit'>,
  { stdout, stderr }: CommandContext,
): Promise<number> {
  const people = await store.read(() => listPeople({ ...query, limit: maxListedPeople + 1 }))
  for (const person of people.slice(0, maxListedPeople)) stdout.write(`${lineOf(person)}\n`)
  if (people.length > maxListedPeople)
    stderr.write(`only the first ${maxListedPeople} people are listed; add part of an address or name\n`)
  return 0
}

function lineOf(person: ListedPerson): string {
  const { identity, name, email, disableTime, passkeys, hasAuthenticatorApp } = person
  const facts = [
    disableTime !== undefined && `disabled since ${new Date(disableTime).toISOString()}`,
    person.isOperator && 'operator',
    person.isUnverified && 'unverified address',
    person.hasLocalAccount && !person.hasPassword && 'no password',
    (passkeys > 0 || hasAuthenticatorApp) && 'second factor',
    !person.hasLocalAccount && 'no local account',
  ].filter(Boolean)
  return [identity, email ?? '-', ...(name === email ? [] : [name]), facts.join(', ')]
    .filter(Boolean)
    .join('  ')
}

/** Sets the password, or returns a link to choose one if there is no hash. */
function* changePassword(deps: UserDependencies, identity: string, hash: string | undefined): Work<Result> {
  if (hash === undefined) return yield* openAdministration(deps).resetPassword(deps.access, identity)
  yield* setPassword(identity, hash, deps.now())
  yield* recordAccountEvent(deps.access, identity, 'password-reset')
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

/** The password is read from a file, because all users of the machine can see the arguments of a command. */
async function readPassword(file: unknown, { stdin }: CommandContext): Promise<string | undefined> {
  if (file === undefined) return undefined
  const content = file === '-' ? await text(stdin) : await readFile(String(file), 'utf8').catch(cannotRead)
  return content.replace(/\r?\n$/, '')
}

function cannotRead(error: Error): never {
  throw new UsageError(`--password-file: ${error.message}`)
}
