// The keys of this service, in memory: those in use, their successors, and retired ones whose tokens are still valid.
import { createSecretKey } from 'node:crypto'
import type { JWK } from 'jose'
import type { PageKey, PageKeys } from '../../aip/page-token.ts'
import type { SigningKey } from './signing-key.ts'
import { importSigningKey } from './signing-key.ts'
import type { KeyDependencies, KeyPurpose } from './stored-keys.ts'
import { algorithmOf, insertMissingKeys, readKeys, requiredPurposes, retentionTime } from './stored-keys.ts'

export type KeyRing = {
  /** The key that signs access tokens now. */
  signing(): SigningKey
  /** The key that signs id tokens now. */
  idTokenSigning(): SigningKey
  /**
   * All stored keys of id tokens. An `id_token_hint` may have expired (OpenID Connect RP-Initiated Logout), so keys that
   * are no longer published still verify it.
   */
  idTokenKeys(): readonly SigningKey[]
  /** The public keys that a client may need to verify a token, including those that will be used next. */
  published(): readonly JWK[]
  /** Finds a key of any algorithm, so that tokens stay valid when the setting of the algorithm changes. */
  findSigning(kid: string): SigningKey | undefined
  page: PageKeys
  /** Reads the keys again, because another copy of the server may have made new ones. */
  reload(): Promise<void>
}

type RetirablePageKey = PageKey & { retireTime: number }
type Keys = {
  sign: SigningKey[]
  id: SigningKey[]
  page: RetirablePageKey[]
  /** The keys of `sign` and `id`. */
  allSigning: SigningKey[]
}

export async function openKeyRing(deps: KeyDependencies): Promise<KeyRing> {
  const { now, tokenAlgorithm } = deps
  const purpose = tokenAlgorithm === algorithmOf.sign ? 'sign' : 'id'
  let keys = await loadKeys(deps)
  const isLive = ({ retireTime }: SigningKey) => retireTime + retentionTime.sign > now()
  return {
    signing: () => inUse(keys[purpose], now()),
    idTokenSigning: () => inUse(keys.id, now()),
    idTokenKeys: () => keys.id,
    published: () => keys.allSigning.filter(isLive).map(({ publicJwk }) => publicJwk),
    findSigning: (kid) => keys.allSigning.find((key) => key.kid === kid && isLive(key)),
    page: {
      get current() {
        return inUse(keys.page, now())
      },
      find: (kid) => keys.page.find((key) => key.kid === kid),
    },
    async reload() {
      keys = await loadKeys(deps)
    },
  }
}

/**
 * Reads the keys, and makes those that are missing: the store may be new, or a copy with another setting may have
 * retired or revoked a key that it does not need (rotation.ts).
 */
async function loadKeys(deps: KeyDependencies): Promise<Keys> {
  const keys = await readKeyRing(deps)
  const missing = requiredPurposes(deps.tokenAlgorithm).filter(
    (purpose) => !keys[purpose].some(({ retireTime }) => retireTime === Number.POSITIVE_INFINITY),
  )
  if (missing.length === 0) return keys
  await insertMissingKeys(deps, missing)
  return readKeyRing(deps)
}

async function readKeyRing(deps: KeyDependencies): Promise<Keys> {
  const stored = await readKeys(deps)
  const keysFor = (purpose: KeyPurpose) => stored.filter((key) => key.purpose === purpose)
  const [sign, id] = await Promise.all([
    Promise.all(keysFor('sign').map((key) => importSigningKey(key, algorithmOf.sign))),
    Promise.all(keysFor('id').map((key) => importSigningKey(key, algorithmOf.id))),
  ])
  const page = keysFor('page').map(({ kid, plain, retireTime }) => ({
    ...{ kid, secret: createSecretKey(plain), retireTime },
  }))
  return { sign, id, page, allSigning: [...id, ...sign] }
}

/** The oldest key that is not retired. */
function inUse<K extends { retireTime: number }>(keys: readonly K[], now: number): K {
  const key = keys.find(({ retireTime }) => retireTime > now)
  if (!key) throw new Error('the store has no key in use; run stemmad migrate')
  return key
}

/** After the keys were read for an unknown kid, they are not read again for this long. */
const reloadPauseMs = 1000

/**
 * Finds signing keys, and reads the keys again for an unknown kid: another copy may have made that key. All calls with an
 * unknown kid wait for the keys that are being read.
 */
export function openKeyFinder(
  keys: KeyRing,
  now: () => number,
): (kid: string) => Promise<SigningKey | undefined> {
  let reloadTime = 0
  let reloading = Promise.resolve()
  return async (kid) => {
    const key = keys.findSigning(kid)
    if (key) return key
    if (now() - reloadTime >= reloadPauseMs) {
      reloadTime = now()
      reloading = keys.reload()
    }
    await reloading
    return keys.findSigning(kid)
  }
}
