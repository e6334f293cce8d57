// Local accounts: people who sign in with an address and a password, for servers without an identity provider. The
// operator vouches for addresses; an account that was made with an invite only claims its address.
import type { RandomBytes } from '../../crypto/random.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import type { ExpiringStates } from './expiring-states.ts'
import { paths } from './paths.ts'
import type { People } from './people.ts'

/** `password` is a hash, empty until one is chosen. */
export type Account = { identity: string; password: string; isVouched: boolean }

export const isEmail = (text: string) => /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u.test(text)

/** Addresses are compared without regard to case and surrounding spaces. */
export const canonicalEmail = (text: string) => text.trim().toLowerCase()

export function* findAccount(email: string): Work<Account | undefined> {
  const address = canonicalEmail(email)
  // Other text may contain characters that PostgreSQL refuses, such as NUL.
  if (!isEmail(address)) return undefined
  const row = yield* first(sql`select identity, password, is_vouched from accounts where email = ${address}`)
  if (!row) return undefined
  return { identity: row[0] as string, password: row[1] as string, isVouched: row[2] === 1 }
}

/** The address that an identity signs in with. */
export function* loginEmailOf(identity: string): Work<string | undefined> {
  const row = yield* first(sql`select email from accounts where identity = ${identity}`)
  return row?.[0] as string | undefined
}

/**
 * The identity of an address that the operator vouches for; account and identity are created if there are none. An
 * account that only claimed the address loses it, but its identity keeps its role bindings.
 */
export function* vouchFor(people: People, issuer: string, address: string, now: number): Work<string> {
  const email = canonicalEmail(address)
  const existing = yield* findAccount(email)
  if (existing?.isVouched) return existing.identity
  const identity = yield* people.ensure({ issuer, subject: email, name: email, email })
  if (existing) yield* signOutEverywhere(existing.identity, now)
  yield sql`insert into accounts (email, identity, password, is_vouched) values (${email}, ${identity}, '', 1)
    on conflict (email) do update set identity = excluded.identity, password = '', is_vouched = 1`
  return identity
}

type Claim = { issuer: string; address: string; passwordHash: string }

/** Creates an account that claims an address, and returns its identity. Undefined if the address is taken. */
export function* claimAddress(
  { people, random }: { people: People; random: RandomBytes },
  { issuer, address, passwordHash }: Claim,
): Work<string | undefined> {
  const email = canonicalEmail(address)
  if (yield* findAccount(email)) return undefined
  const subject = `invited/${random(16).toString('hex')}`
  const identity = yield* people.ensure({ issuer, subject, name: email, emailUnverified: email })
  yield sql`insert into accounts (email, identity, password, is_vouched)
    values (${email}, ${identity}, ${passwordHash}, 0)`
  return identity
}

/** Signs the person out everywhere, so that sessions with the old password end. */
export function* setPassword(identity: string, passwordHash: string, now: number): Work<void> {
  yield sql`update accounts set password = ${passwordHash} where identity = ${identity}`
  yield* signOutEverywhere(identity, now)
}

export const passwordLink = 'PasswordLink'
export const passwordLinkHours = 72

type LinkDependencies = { states: ExpiringStates; authUrl: string; now(): number; random: RandomBytes }

/** A link at which a person chooses a password, once. The old password and earlier links stop working. */
export function* makePasswordLink(
  { states, authUrl, now, random }: LinkDependencies,
  identity: string,
): Work<string> {
  yield* setPassword(identity, '', now())
  const code = random(24).toString('base64url')
  yield* states.put(passwordLink, code, {}, passwordLinkHours * 60 * 60, { identity })
  return `${authUrl}${paths.password}?code=${code}`
}
