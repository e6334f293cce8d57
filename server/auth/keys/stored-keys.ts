// The keys in the store, each encrypted with the server's secret.
import { newPageKid } from '../../aip/page-token.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import type { Store } from '../../store/db.ts'
import type { Sql } from '../../store/sql.ts'
import { sql } from '../../store/sql.ts'
import type { MakeRsaKey } from './rsa-key.ts'
import { makeRsaKey } from './rsa-key.ts'
import type { TokenAlgorithm } from './signing-key.ts'
import { idTokenAlgorithm, makeSigningKey } from './signing-key.ts'

export type KeyDependencies = {
  store: Store
  secret: Secret
  /** The algorithm of new access tokens. */
  tokenAlgorithm: TokenAlgorithm
  now(): number
  random: RandomBytes
  makeRsaKey?: MakeRsaKey | undefined
}

/**
 * `id` signs id tokens, and access tokens with RS256: generating an RSA key takes long, so one key serves both. `sign`
 * signs access tokens with ES256. `page` encrypts page tokens.
 */
export const keyPurposes = ['sign', 'id', 'page'] as const
export type KeyPurpose = (typeof keyPurposes)[number]

/** The purposes for which there is always a key. With RS256, a `sign` key made earlier only verifies tokens. */
export const requiredPurposes = (algorithm: TokenAlgorithm): readonly KeyPurpose[] =>
  keyPurposes.filter((purpose) => purpose !== 'sign' || algorithm === algorithmOf.sign)

/** The algorithms of the keys that sign. */
export const algorithmOf = { sign: 'ES256', id: idTokenAlgorithm } as const

const hour = 60 * 60_000

/**
 * How long a retired key stays in the store at least, in milliseconds: the next rotation after this
 * time deletes it. Longer than its tokens are valid: access and id tokens for an hour, page tokens
 * for three days.
 */
export const retentionTime: Record<KeyPurpose, number> = { sign: 2 * hour, id: 2 * hour, page: 4 * 24 * hour }

export type StoredKey = { kid: string; purpose: KeyPurpose; plain: Buffer; retireTime: number }

/** The keys were encrypted with another secret. Has a code, so that commands print the message without a stack trace. */
export class WrongSecretError extends Error {
  readonly code = 'WRONG_SECRET'
}

/** All keys, oldest first. For each purpose, the oldest key that is not retired is in use. */
export async function readKeys({ store, secret }: KeyDependencies): Promise<StoredKey[]> {
  const rows = await store.query(
    sql`select kid, purpose, wrapped, retire_time from keys order by create_time, kid`,
  )
  return rows.map(([kid, purpose, wrapped, retireTime]) => ({
    kid: kid as string,
    purpose: purpose as KeyPurpose,
    plain: unwrap(secret, kid as string, wrapped as Uint8Array),
    retireTime: (retireTime as number | null) ?? Number.POSITIVE_INFINITY,
  }))
}

function unwrap(secret: Secret, kid: string, wrapped: Uint8Array): Buffer {
  try {
    return secret.open(kid, wrapped)
  } catch (cause) {
    throw new WrongSecretError(
      'the keys in the store cannot be decrypted: STEMMA_SECRET_KEY (or secret.key) is not the secret that encrypted them',
      { cause },
    )
  }
}

/**
 * Makes keys for purposes that have none. If several copies of the server do this at the same time,
 * only one key for each purpose is stored.
 */
export async function insertMissingKeys(
  deps: KeyDependencies,
  purposes: readonly KeyPurpose[],
): Promise<void> {
  const keys = await Promise.all(purposes.map((purpose) => makeKey(deps, purpose)))
  const time = deps.now()
  await deps.store.write(function* () {
    for (const key of keys) yield sql`${insertKey(key, time)} on conflict do nothing`
  })
}

export type NewKey = { kid: string; purpose: KeyPurpose; wrapped: Uint8Array }

export async function makeKey(deps: KeyDependencies, purpose: KeyPurpose): Promise<NewKey> {
  const { secret, random } = deps
  const { kid, plain } =
    purpose === 'page'
      ? { kid: newPageKid(random), plain: random(32) }
      : await makeSigningKey(algorithmOf[purpose], deps.makeRsaKey ?? makeRsaKey)
  return { kid, purpose, wrapped: secret.seal(kid, plain) }
}

export const insertKey = ({ kid, purpose, wrapped }: NewKey, time: number): Sql =>
  sql`insert into keys (kid, purpose, wrapped, create_time) values (${kid}, ${purpose}, ${wrapped}, ${time})`
