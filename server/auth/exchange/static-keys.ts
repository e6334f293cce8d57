// The static keys of identities, as functions that find the key of a token.
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet } from 'jose'
import { BoundedMap } from '../../bounded-map.ts'
import { readKeySet } from '../../claims/key-set.ts'

const maxCached = 200

export type StaticKeys = {
  /** Undefined if the text contains no key that can verify signatures. */
  read(text: string): JWTVerifyGetKey | undefined
}

/**
 * Unusable texts are cached too: anyone can make the server parse them, since the keys are needed
 * before the token is verified.
 */
export function openStaticKeys(): StaticKeys {
  const cached = new BoundedMap<string, JWTVerifyGetKey | 'unusable'>(maxCached)
  return {
    read(text) {
      const keys = cached.getOrMake(text, () => keysIn(text))
      return keys === 'unusable' ? undefined : keys
    },
  }
}

function keysIn(text: string): JWTVerifyGetKey | 'unusable' {
  const { usable } = readKeySet(text)
  // `readKeySet` has created a public key from each, so the types of their members are correct.
  return usable.length === 0 ? 'unusable' : createLocalJWKSet({ keys: usable } as JSONWebKeySet)
}
