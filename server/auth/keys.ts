// The keys of this service: one that signs access tokens, one that signs id tokens, one that seals page tokens,
// and those retired before them.
import { createSecretKey, randomBytes } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { PageKey, PageKeys } from '../aip/page-token.ts'
import { newPageKid } from '../aip/page-token.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Store } from '../store/db.ts'
import { raw, sql } from '../store/sql.ts'

export const signingAlgorithm = 'ES256'
/** What every relying party understands (OpenID Connect Core, 15.1). */
export const idTokenAlgorithm = 'RS256'

export type SigningKey = {
  kid: string
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
  privateJwk: JWK
  /** When another takes its place; in milliseconds, infinite as long as none is there. */
  retireTime: number
}

export type KeyRing = {
  signing(): SigningKey
  idTokens(): SigningKey
  /** All that somebody may have to verify with: those in use, those to come, and those whose tokens still live. */
  published(): readonly JWK[]
  findSigning(kid: string): SigningKey | undefined
  page: PageKeys
  /** Reads the keys again, because another copy may have made new ones. */
  reload(): Promise<void>
}

const purposes = ['sign', 'id', 'page'] as const
type Purpose = (typeof purposes)[number]

const algorithms = { sign: signingAlgorithm, id: idTokenAlgorithm }

/** Every copy knows a new key, and whoever keeps our published keys has read them again, before it is used. */
const overlap = 10 * 60_000
const reloadEvery = 60_000
/** Tokens live for an hour, page tokens for three days. */
const keptAfter = { sign: 2 * 60 * 60_000, id: 2 * 60 * 60_000, page: 4 * 24 * 60 * 60_000 }
const oldest = 90 * 24 * 60 * 60_000

export async function openKeyRing(
  store: Store,
  secret: Secret,
  now: () => number = Date.now,
): Promise<KeyRing> {
  let signing: SigningKey[] = []
  let idTokens: SigningKey[] = []
  let page: (PageKey & { retireTime: number })[] = []

  /** In the order in which they are used. */
  async function reload(): Promise<void> {
    const rows = await store.query(
      sql`select kid, purpose, wrapped, retire_time from keys order by create_time, kid`,
    )
    const keys = rows.map(([kid, purpose, wrapped, retireTime]) => ({
      kid: kid as string,
      purpose: purpose as Purpose,
      plain: unwrap(secret, kid as string, wrapped as Uint8Array),
      retireTime: (retireTime as number | null) ?? Number.POSITIVE_INFINITY,
    }))
    page = keys
      .filter(({ purpose }) => purpose === 'page')
      .map(({ kid, plain, retireTime }) => ({
        ...{ kid, secret: createSecretKey(plain), retireTime },
        get retired() {
          return retireTime <= now()
        },
      }))
    const imported = (wanted: 'sign' | 'id') =>
      Promise.all(
        keys.filter(({ purpose }) => purpose === wanted).map((key) => importSigning(key, algorithms[wanted])),
      )
    ;[signing, idTokens] = await Promise.all([imported('sign'), imported('id')])
  }

  /** Whoever finds a key that was retired long ago can do nothing with it. */
  const isLive = ({ retireTime }: SigningKey) => retireTime + keptAfter.sign > now()

  await Promise.all(purposes.map((purpose) => ensureKey(store, secret, purpose)))
  await reload()
  return {
    signing: () => inUse(signing, now()),
    idTokens: () => inUse(idTokens, now()),
    published: () => [...signing, ...idTokens].filter(isLive).map(({ publicJwk }) => publicJwk),
    findSigning: (kid) => signing.find((key) => key.kid === kid && isLive(key)),
    page: {
      get current() {
        return inUse(page, now())
      },
      find: (kid) => page.find((one) => one.kid === kid),
    },
    reload,
  }
}

/** Keeps up with what other copies do, and lets no key grow old. Answers what stops it. */
export function tendKeys(
  store: Store,
  secret: Secret,
  keys: KeyRing,
  onError: (error: unknown) => void,
): () => void {
  const tend = async () => {
    await rotateOld(store, secret)
    await keys.reload()
  }
  const timer = setInterval(() => tend().catch(onError), reloadEvery).unref()
  return () => clearInterval(timer)
}

async function rotateOld(store: Store, secret: Secret): Promise<void> {
  const [row] = await store.query(sql`select min(create_time) from keys where retire_time is null`)
  if (row && (row[0] as number) < Date.now() - oldest) await rotateKeys(store, secret, false)
}

/** New keys beside those in use, which go after a while; or at once, with all tokens that they signed. */
export async function rotateKeys(store: Store, secret: Secret, isRevoked: boolean): Promise<void> {
  const made = await Promise.all(
    purposes.map(async (purpose) => ({ purpose, ...(await makeKey[purpose]()) })),
  )
  const time = Date.now()
  await store.write(function* () {
    // Copies may find at the same moment that it is time.
    yield raw('/*pg lock table keys in exclusive mode -- */ select 1')
    for (const { purpose, kid, plain } of made) {
      if (isRevoked) yield sql`delete from keys where purpose = ${purpose}`
      else {
        yield sql`delete from keys where purpose = ${purpose} and retire_time < ${time - keptAfter[purpose]}`
        yield sql`update keys set retire_time = ${time + overlap}
          where purpose = ${purpose} and (retire_time is null or retire_time > ${time + overlap})`
      }
      yield insertKey(kid, purpose, secret.wrap(kid, plain), time)
    }
  })
}

/** Of those that are not retired, the one that was there first. */
function inUse<K extends { retireTime: number }>(keys: readonly K[], now: number): K {
  const key = keys.find(({ retireTime }) => retireTime > now)
  if (!key) throw new Error('the store holds no key in use; run stemmad migrate')
  return key
}

function unwrap(secret: Secret, kid: string, wrapped: Uint8Array): Buffer {
  try {
    return secret.unwrap(kid, wrapped)
  } catch (cause) {
    throw new Error(
      'the keys in the store cannot be read with this STEMMA_SECRET_KEY (or secret.key): it is not the one they were made with',
      { cause },
    )
  }
}

/** Copies that start together may all get here; the store keeps the key of the first. */
async function ensureKey(store: Store, secret: Secret, purpose: Purpose) {
  const present = await store.query(
    sql`select kid from keys where purpose = ${purpose} and retire_time is null`,
  )
  if (present.length > 0) return
  const { kid, plain } = await makeKey[purpose]()
  const statement = insertKey(kid, purpose, secret.wrap(kid, plain), Date.now())
  await store.write(function* () {
    yield sql`${statement} on conflict do nothing`
  })
}

const insertKey = (kid: string, purpose: Purpose, wrapped: Uint8Array, time: number) =>
  sql`insert into keys (kid, purpose, wrapped, create_time) values (${kid}, ${purpose}, ${wrapped}, ${time})`

const makeKey: Record<Purpose, () => Promise<{ kid: string; plain: Buffer }>> = {
  sign: () => makeSigningKey(signingAlgorithm),
  id: () => makeSigningKey(idTokenAlgorithm),
  page: async () => ({ kid: newPageKid(randomBytes), plain: randomBytes(32) }),
}

async function makeSigningKey(algorithm: string) {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { kid: await calculateJwkThumbprint(jwk), plain: Buffer.from(JSON.stringify(jwk)) }
}

async function importSigning(
  { kid, plain, retireTime }: { kid: string; plain: Buffer; retireTime: number },
  algorithm: string,
): Promise<SigningKey> {
  const jwk = JSON.parse(plain.toString()) as JWK
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicPart } = jwk
  const about = { kid, alg: algorithm, use: 'sig' }
  return {
    kid,
    privateKey: (await importJWK(jwk, algorithm)) as CryptoKey, // a JWK that is no secret imports as a CryptoKey
    publicKey: (await importJWK(publicPart, algorithm)) as CryptoKey,
    publicJwk: { ...publicPart, ...about },
    privateJwk: { ...jwk, ...about },
    retireTime,
  }
}
