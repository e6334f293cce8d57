// Accounts that were made with an invite. Their e-mail addresses are not verified, so several accounts may claim the
// same address. If addresses were unique, anyone with an invite could find out whether an address has an account, or
// reserve it. An account is therefore found by its address and its password together.
import { createHmac } from 'node:crypto'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import { join, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import { removeSecondFactors } from '../second-factors/second-factors.ts'
import { signOutEverywhere } from '../sign-outs.ts'
import type { Passwords } from './passwords.ts'
import { saltSize } from './passwords.ts'
import type { People } from './people.ts'

export type HashDependencies = { passwords: Passwords; secret: Secret }

/** The hash by which an account is found. */
export const hashForUnverifiedAddress = (
  deps: HashDependencies,
  email: string,
  password: string,
): Promise<string> => deps.passwords.hash(password, saltOf(deps, email))

/** The hashes that an account may have: the first has the current cost, the others the costs of earlier versions. */
export const possibleClaimHashes = (deps: HashDependencies, email: string, password: string) =>
  deps.passwords.possibleHashes(password, saltOf(deps, email))

/** The salt is the same for all accounts of an address, and unknown without the secret of the server. */
function saltOf({ secret }: HashDependencies, email: string): Buffer {
  const key = secret.derive('salts of claimed addresses')
  return createHmac('sha256', key).update(email).digest().subarray(0, saltSize)
}

/** The account with this address and one of these hashes. */
export function* findClaim(
  email: string,
  passwordHashes: readonly string[],
): Work<{ identity: string; passwordHash: string } | undefined> {
  const hashes = join(
    passwordHashes.map((hash) => sql`${hash}`),
    ', ',
  )
  const row = yield* first(
    sql`select identity, password from claimed_accounts where email = ${email} and password in (${hashes})`,
  )
  return row && { identity: row[0] as string, passwordHash: row[1] as string }
}

/** At most `limit` identities whose accounts claim an address, oldest first. */
export function* claimantsOf(email: string, limit: number): Work<string[]> {
  const rows =
    yield* all(sql`select c.identity from claimed_accounts c join identities i on i.uid = c.identity
    where c.email = ${email} order by i.create_time, i.uid limit ${limit}`)
  return rows.map(([identity]) => identity as string)
}

type Claim = { issuer: string; email: string; passwordHash: string }

/**
 * Creates an account that claims an address, and returns its identity. The identity is not derived from the address,
 * because several accounts may claim the same address.
 */
export function* claimAddress(
  { people, random }: { people: People; random: RandomBytes },
  { issuer, email, passwordHash }: Claim,
): Work<string> {
  // A concurrent request of the same person may have created the account.
  const existing = yield* findClaim(email, [passwordHash])
  if (existing) return existing.identity
  const subject = `invited/${random(16).toString('hex')}`
  const identity = yield* people.ensure({ issuer, subject, name: email, emailUnverified: email })
  yield sql`insert into claimed_accounts (identity, email, password) values (${identity}, ${email}, ${passwordHash})`
  return identity
}

/** Deletes the accounts that claim an address. Their identities keep their role bindings. */
export function* deleteClaims(email: string, now: number): Work<void> {
  const rows = yield* all(sql`delete from claimed_accounts where email = ${email} returning identity`)
  for (const [identity] of rows) yield* endAccess(identity as string, now)
}

/** Ends all sign-ins of a person, and removes passkeys, which sign in without a password, and other second factors. */
export function* endAccess(identity: string, now: number): Work<void> {
  yield* removeSecondFactors(identity)
  yield* signOutEverywhere(identity, now)
}
