// Local accounts: people who sign in with an address and a password, for installs without a provider of their
// own. An address belongs to whom the operator says; who came by an invite only claims theirs.
import { randomBytes } from 'node:crypto'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { People } from './people.ts'
import type { States } from './states.ts'
import { signOutEverywhere } from './states.ts'

export type Account = { identity: string; password: string }

const linkLife = { hours: 72, seconds: 72 * 60 * 60 }

export const isEmail = (text: string) => /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u.test(text)

/** One address, however it is typed. */
export const canonicalEmail = (text: string) => text.trim().toLowerCase()

export function* findAccount(email: string): Work<Account | undefined> {
  const row = yield* first(
    sql`select identity, password from accounts where email = ${canonicalEmail(email)}`,
  )
  return row && { identity: row[0] as string, password: row[1] as string }
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
export function* vouchFor(people: People, issuer: string, address: string): Work<string> {
  const email = canonicalEmail(address)
  const identity = yield* people.ensure({ issuer, subject: email, name: email, email })
  const before = yield* findAccount(email)
  if (before?.identity === identity) return identity
  if (before) yield* signOutEverywhere(before.identity)
  yield sql`insert into accounts (email, identity, password) values (${email}, ${identity}, '')
    on conflict (email) do update set identity = excluded.identity, password = ''`
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
  yield sql`insert into accounts (email, identity, password) values (${email}, ${identity}, ${password})`
  return identity
}

/** Whoever was signed in with the password before has to sign in anew. */
export function* setPassword(identity: string, password: string): Work<void> {
  yield sql`update accounts set password = ${password} where identity = ${identity}`
  yield* signOutEverywhere(identity)
}

/** A link at which a person chooses a password, once. Those given out before are void. */
export function* makePasswordLink(states: States, authUrl: string, identity: string): Work<string> {
  yield* signOutEverywhere(identity)
  const code = randomBytes(24).toString('base64url')
  yield* states.put(passwordLink, code, {}, linkLife.seconds, { identity })
  return `${authUrl}/password?code=${code}`
}

export const passwordLink = 'PasswordLink'
export const passwordLinkHours = linkLife.hours
