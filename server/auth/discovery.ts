// Where others read the keys to verify our tokens with. The documents that lead there are oidc-provider's.
import type { KeyRing } from './keys.ts'
import { paths, prefixOf } from './login/paths.ts'

type Answer = { status: number; type: string; body: string; cacheFor: number }

/** Shorter than a new key waits before it is used. */
const cacheFor = 300

/** The path with what is answered there. */
export function keyPaths(authUrl: string, keys: KeyRing): Record<string, () => Answer> {
  const prefix = prefixOf(authUrl)
  return {
    [prefix + paths.keys]: () => ({
      ...{ status: 200, type: 'application/json', cacheFor },
      body: JSON.stringify({ keys: keys.published() }),
    }),
  }
}
