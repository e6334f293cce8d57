// JSON Web Key Sets (RFC 7517) that callers hand in.
import { createPublicKey } from 'node:crypto'

const mostKeys = 20
const privateParts = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const curves = new Set(['P-256', 'P-384', 'P-521', 'Ed25519'])
const fewestRsaBits = 2048
/** Larger ones take long to verify with. */
const mostRsaBits = 8192

type Jwk = Record<string, unknown>

/** What is wrong with a set of public keys. Never repeats any of it: somebody may have sent a private key. */
export function keySetFault(text: string): string | undefined {
  const keys = keysOf(text)
  if (!keys) return 'must be a JSON Web Key Set: {"keys":[…]}'
  if (keys.length === 0 || keys.length > mostKeys) return `must hold 1 to ${mostKeys} keys`
  for (const [at, key] of keys.entries()) {
    const fault = keyFault(key)
    if (fault) return `keys[${at}] ${fault}`
  }
  return undefined
}

function keysOf(text: string): Jwk[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    const isList = Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null)
    return isList ? (keys as Jwk[]) : undefined
  } catch {
    return undefined
  }
}

function keyFault(key: Jwk): string | undefined {
  if (privateParts.some((part) => Object.hasOwn(key, part))) return 'must be a public key; it holds a secret'
  if (key.use !== undefined && key.use !== 'sig') return 'must be a key for signatures'
  const isOnCurve = typeof key.crv === 'string' && curves.has(key.crv)
  if (key.kty !== 'RSA' && !isOnCurve) return 'must be an RSA key, or one on P-256, P-384, P-521 or Ed25519'
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' })
    const bits = asymmetricKeyDetails?.modulusLength
    const isFitting = bits === undefined || (bits >= fewestRsaBits && bits <= mostRsaBits)
    return isFitting ? undefined : `must have ${fewestRsaBits} to ${mostRsaBits} bits`
  } catch {
    return 'is no key that can be read'
  }
}
