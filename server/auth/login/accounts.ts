// Local accounts: people who sign in with an address and a password, for installs without a provider of their
// own. An address belongs to whom the operator says; who came by an invite only claims theirs.
import { randomBytes } from 'node:crypto'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import { paths } from './paths.ts'
import type { People } from './people.ts'
import type { States } from './states.ts'

export type Account = { identity: string; password: string; isVouched: boolean }

const linkLife = { hours: 72, seconds: 72 * 60 * 60 }

export const isEmail = (text: string) => /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u.test(text)

/** One address, however it is typed. */
export const canonicalEmail = (text: string) => text.trim().toLowerCase()

export function* findAccount(email: string): Work<Account | undefined> {
  const address = canonicalEmail(email)
  // What is no address is nobody's, and perhaps nothing that the store can compare.
  const row =
    isEmail(address) &&
    (yield* first(sql`select identity, password, is_vouched from accounts where email = ${address}`))
  if (!row) return undefined
  return { identity: row[0] as string, password: row[1] as string, isVouched: row[2] === 1 }
}

/** The address that somebody signs in with. */
export function* loginOf(identity: string): Work<string | undefined> {
  const row = yield* first(sql`select email from accounts where identity = ${identity}`)
  return row?.[0] as string | undefined
}

/**
 * The account of somebody whom the operator vouches for, made if there is none. Whoever only claimed the address
 * before loses it, and keeps what they hold.
 */
export function* vouchFor(people: People, issuer: string, address: string, now: number): Work<string> {
  const email = canonicalEmail(address)
  const before = yield* findAccount(email)
  if (before?.isVouched) return before.identity
  const identity = yield* people.ensure({ issuer, subject: email, name: email, email })
  if (before) yield* signOutEverywhere(before.identity, now)
  yield sql`insert into accounts (email, identity, password, is_vouched) values (${email}, ${identity}, '', 1)
    on conflict (email) do update set identity = excluded.identity, password = '', is_vouched = 1`
  return identity
}

/** An account for somebody nobody vouches for. Undefined where the address is taken. */
export function* claim(
  people: People,
  issuer: string,
  address: string,
  password: string,
): Work<string | undefined> {
  const email = canonicalEmail(address)
  if (yield* findAccount(email)) return undefined
  const subject = `invited/${randomBytes(16).toString('hex')}`
  const identity = yield* people.ensure({ issuer, subject, name: email, emailUnverified: email })
  yield sql`insert into accounts (email, identity, password, is_vouched)
    values (${email}, ${identity}, ${password}, 0)`
  return identity
}

/** Whoever was signed in with the password before has to sign in anew. */
export function* setPassword(identity: string, password: string, now: number): Work<void> {
  yield sql`update accounts set password = ${password} where identity = ${identity}`
  yield* signOutEverywhere(identity, now)
}

/** A link at which a person chooses a password, once. The one before works no longer, nor do other links. */
export function* makePasswordLink(
  states: States,
  authUrl: string,
  identity: string,
  now: number,
): Work<string> {
  yield* setPassword(identity, '', now)
  const code = randomBytes(24).toString('base64url')
  yield* states.put(passwordLink, code, {}, linkLife.seconds, { identity })
  return `${authUrl}${paths.password}?code=${code}`
}

export const passwordLink = 'PasswordLink'
export const passwordLinkHours = linkLife.hours
