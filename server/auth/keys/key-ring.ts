// The keys of this service, in memory: those in use, their successors, and retired ones whose tokens are still valid.
import { createSecretKey } from 'node:crypto'
import type { JWK } from 'jose'
import type { PageKey, PageKeys } from '../../aip/page-token.ts'
import type { SigningKey } from './signing-key.ts'
import { idTokenAlgorithm, importSigningKey, signingAlgorithm } from './signing-key.ts'
import type { KeyDependencies, KeyPurpose } from './stored-keys.ts'
import { ensureKey, keyPurposes, readKeys, retentionTime } from './stored-keys.ts'

export type KeyRing = {
  /** The key that signs access tokens now. */
  signing(): SigningKey
  /** The key that signs id tokens now. */
  idTokenSigning(): SigningKey
  /** The public keys that a client may need to verify a token, including those that will be used next. */
  published(): readonly JWK[]
  findSigning(kid: string): SigningKey | undefined
  page: PageKeys
  /** Reads the keys again, because another copy of the server may have made new ones. */
  reload(): Promise<void>
}

type RetirablePageKey = PageKey & { retireTime: number }
type Keys = { signing: SigningKey[]; idTokens: SigningKey[]; page: RetirablePageKey[] }

export async function openKeyRing(deps: KeyDependencies): Promise<KeyRing> {
  const { now } = deps
  await Promise.all(keyPurposes.map((purpose) => ensureKey(deps, purpose)))
  let keys = await loadKeys(deps)
  const isLive = ({ retireTime }: SigningKey) => retireTime + retentionTime.sign > now()
  return {
    signing: () => inUse(keys.signing, now()),
    idTokenSigning: () => inUse(keys.idTokens, now()),
    published: () => [...keys.signing, ...keys.idTokens].filter(isLive).map(({ publicJwk }) => publicJwk),
    findSigning: (kid) => keys.signing.find((key) => key.kid === kid && isLive(key)),
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

async function loadKeys(deps: KeyDependencies): Promise<Keys> {
  const stored = await readKeys(deps)
  const keysFor = (purpose: KeyPurpose) => stored.filter((key) => key.purpose === purpose)
  const [signing, idTokens] = await Promise.all([
    Promise.all(keysFor('sign').map((key) => importSigningKey(key, signingAlgorithm))),
    Promise.all(keysFor('id').map((key) => importSigningKey(key, idTokenAlgorithm))),
  ])
  const page = keysFor('page').map(({ kid, plain, retireTime }) => ({
    ...{ kid, secret: createSecretKey(plain), retireTime },
    get retired() {
      return retireTime <= deps.now()
    },
  }))
  return { signing, idTokens, page }
}

/** The oldest key that is not retired. */
function inUse<K extends { retireTime: number }>(keys: readonly K[], now: number): K {
  const key = keys.find(({ retireTime }) => retireTime > now)
  if (!key) throw new Error('the store has no key in use; run stemmad migrate')
  return key
}

/** After the keys were read for an unknown kid, they are not read again for this long. */
const reloadPauseMs = 1000

/** Finds signing keys, and reads the keys again for an unknown kid: another copy may have made that key. */
export function openKeyFinder(
  keys: KeyRing,
  now: () => number,
): (kid: string) => Promise<SigningKey | undefined> {
  let reloadTime = 0
  return async (kid) => {
    const key = keys.findSigning(kid)
    if (key || now() - reloadTime < reloadPauseMs) return key
    reloadTime = now()
    await keys.reload()
    return keys.findSigning(kid)
  }
}
