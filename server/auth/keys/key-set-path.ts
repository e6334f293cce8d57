// The JSON Web Key Set (RFC 7517) that clients verify our tokens with. Its URL is in the discovery documents, which
// oidc-provider serves.

import { prefixOf } from '../../pages/url-prefix.ts'
import { paths } from '../login/paths.ts'
import type { KeyRing } from './key-ring.ts'

type KeySetResponse = { status: number; type: string; body: string; cacheFor: number }

/** In seconds. Shorter than the time between the creation of a key and its first use (rotation.ts). */
const cacheFor = 300

/** The path of the key set and the function that returns its response. */
export function keySetPath(authUrl: string, keys: KeyRing): Record<string, () => KeySetResponse> {
  return {
    [prefixOf(authUrl) + paths.keys]: () => ({
      ...{ status: 200, type: 'application/json', cacheFor },
      body: JSON.stringify({ keys: keys.published() }),
    }),
  }
}
