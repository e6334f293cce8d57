// The keys of this service: one that signs tokens, one that seals page tokens, and those retired before them.
import { createSecretKey, randomBytes } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { PageKey, PageKeys } from '../aip/page-token.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Secret } from './secret.ts'

export const signingAlgorithm = 'ES256'

export type SigningKey = {
  kid: string
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
  retired: boolean
}

export type KeyRing = {
  signing(): SigningKey
  findSigning(kid: string): SigningKey | undefined
  page: PageKeys
  /** Reads the keys again, because another copy may have made new ones. */
  reload(): Promise<void>
}

type Purpose = 'sign' | 'page'

export async function openKeyRing(store: Store, secret: Secret): Promise<KeyRing> {
  let signing: SigningKey[] = []
  let page: PageKey[] = []

  async function reload(): Promise<void> {
    const rows = await store.query(
      sql`select kid, purpose, wrapped, retire_time from keys order by create_time desc`,
    )
    const keys = rows.map(([kid, purpose, wrapped, retireTime]) => ({
      kid: kid as string,
      purpose: purpose as Purpose,
      plain: unwrap(secret, kid as string, wrapped as Uint8Array),
      retired: retireTime !== null,
    }))
    page = keys
      .filter(({ purpose }) => purpose === 'page')
      .map(({ kid, plain, retired }) => ({ kid, secret: createSecretKey(plain), retired }))
    signing = await Promise.all(keys.filter(({ purpose }) => purpose === 'sign').map(importSigning))
  }

  await ensureKey(store, secret, 'sign', makeSigningKey)
  await ensureKey(store, secret, 'page', makePageKey)
  await reload()
  return {
    signing: () => inUse(signing),
    findSigning: (kid) => signing.find((key) => key.kid === kid),
    page: {
      get current() {
        return inUse(page)
      },
      find: (kid) => page.find((key) => key.kid === kid),
    },
    reload,
  }
}

function inUse<K extends { retired: boolean }>(keys: K[]): K {
  const key = keys.find(({ retired }) => !retired)
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
async function ensureKey(
  store: Store,
  secret: Secret,
  purpose: Purpose,
  make: () => Promise<{ kid: string; plain: Uint8Array }>,
) {
  const present = await store.query(
    sql`select kid from keys where purpose = ${purpose} and retire_time is null`,
  )
  if (present.length > 0) return
  const { kid, plain } = await make()
  const wrapped = secret.wrap(kid, plain)
  await store.write(function* () {
    yield sql`insert into keys (kid, purpose, wrapped, create_time) values (${kid}, ${purpose}, ${wrapped}, ${Date.now()})
      on conflict do nothing`
  })
}

async function makePageKey() {
  return { kid: randomBytes(8).toString('hex'), plain: randomBytes(32) }
}

async function makeSigningKey() {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { kid: await calculateJwkThumbprint(jwk), plain: Buffer.from(JSON.stringify(jwk)) }
}

async function importSigning({
  kid,
  plain,
  retired,
}: {
  kid: string
  plain: Buffer
  retired: boolean
}): Promise<SigningKey> {
  const jwk = JSON.parse(plain.toString()) as JWK
  const { d: _, ...publicPart } = jwk
  const publicJwk = { ...publicPart, kid, alg: signingAlgorithm, use: 'sig' }
  return {
    kid,
    privateKey: (await importJWK(jwk, signingAlgorithm)) as CryptoKey, // a JWK that is no secret imports as a CryptoKey
    publicKey: (await importJWK(publicPart, signingAlgorithm)) as CryptoKey,
    publicJwk,
    retired,
  }
}
