// Local accounts, for servers without an identity provider: people sign in with an e-mail address and a password. The
// operator vouches for the addresses of these accounts. Accounts that were made with an invite are in
// claimed-accounts.ts. Earlier versions stored accounts of invited people in the table `accounts` too, with
// `is_vouched = 0`.
import type { RandomBytes } from '../../crypto/random.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import { deleteClaims, endAccess } from './claimed-accounts.ts'
import type { ExpiringStates } from './expiring-states.ts'
import { paths } from './paths.ts'
import type { People } from './people.ts'

/** `password` is a hash; empty until a password is chosen. */
export type Account = { identity: string; password: string; isVouched: boolean }

export const isEmail = (text: string) => /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u.test(text)

/** Addresses are compared without regard to case and surrounding spaces. */
export const canonicalEmail = (text: string) => text.trim().toLowerCase()

export function* findAccount(email: string): Work<Account | undefined> {
  const address = canonicalEmail(email)
  // Text that is not an address may contain characters that PostgreSQL refuses, such as NUL.
  if (!isEmail(address)) return undefined
  const row = yield* first(sql`select identity, password, is_vouched from accounts where email = ${address}`)
  if (!row) return undefined
  return { identity: row[0] as string, password: row[1] as string, isVouched: row[2] === 1 }
}

/**
 * The address that an identity signs in with. `isUnverified` is true for accounts of
 * claimed-accounts.ts, and false for those in the table `accounts`, even with `is_vouched = 0`.
 */
export type LoginAddress = { email: string; isUnverified: boolean }

export function* loginAddressOf(identity: string): Work<LoginAddress | undefined> {
  const row = yield* first(sql`select email, 0 from accounts where identity = ${identity}
    union all select email, 1 from claimed_accounts where identity = ${identity}`)
  return row && { email: row[0] as string, isUnverified: row[1] === 1 }
}

/**
 * Returns the identity of an address that the operator vouches for. Creates the account and the identity if they do not
 * exist. Accounts that only claimed the address can no longer sign in; their identities keep their role bindings.
 */
export function* ensureVouchedAccount(
  people: People,
  issuer: string,
  address: string,
  now: number,
): Work<string> {
  const email = canonicalEmail(address)
  const existing = yield* findAccount(email)
  if (existing?.isVouched) return existing.identity
  const identity = yield* people.ensure({ issuer, subject: email, name: email, email })
  if (existing) yield* endAccess(existing.identity, now)
  yield* deleteClaims(email, now)
  yield sql`insert into accounts (email, identity, password, is_vouched) values (${email}, ${identity}, '', 1)
    on conflict (email) do update set identity = excluded.identity, password = '', is_vouched = 1`
  return identity
}

/**
 * The stored hash of a person's password. On PostgreSQL, the lock makes a change of the password wait for the end of
 * this transaction.
 */
export function* lockPassword(identity: string): Work<string | undefined> {
  for (const table of [sql`accounts`, sql`claimed_accounts`]) {
    const row = yield* first(
      sql`select password from ${table} where identity = ${identity} /*pg for share */`,
    )
    if (row) return row[0] as string
  }
  return undefined
}

/**
 * Also signs the person out everywhere, so that sessions with the old password end. If the account only claims its
 * address, `passwordHash` must be made by `hashForUnverifiedAddress`.
 */
export function* setPassword(identity: string, passwordHash: string, now: number): Work<void> {
  yield sql`update accounts set password = ${passwordHash} where identity = ${identity}`
  yield sql`update claimed_accounts set password = ${passwordHash} where identity = ${identity}`
  yield* signOutEverywhere(identity, now)
}

export const passwordLink = 'PasswordLink'
export const passwordLinkHours = 72

type LinkDependencies = { states: ExpiringStates; authUrl: string; now(): number; random: RandomBytes }

/** Makes a link at which a person can choose a password once. The old password and earlier links stop working. */
export function* makePasswordLink(
  { states, authUrl, now, random }: LinkDependencies,
  identity: string,
): Work<string> {
  yield* setPassword(identity, '', now())
  const code = random(24).toString('base64url')
  yield* states.put(passwordLink, code, {}, passwordLinkHours * 60 * 60, { identity })
  return `${authUrl}${paths.password}?code=${code}`
}
