// JSON Web Key Sets (RFC 7517) that callers send.
import { createPublicKey } from 'node:crypto'

const maxKeys = 20
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const curves = new Set(['P-256', 'P-384', 'P-521', 'Ed25519'])
const minRsaBits = 2048
/** Larger keys make verification slow. */
const maxRsaBits = 8192

type Jwk = Record<string, unknown>

/** Describes what is wrong with a set of public keys. Never quotes the set, which may contain a private key. */
export function keySetFault(text: string): string | undefined {
  const keys = keysOf(text)
  if (!keys) return 'must be a JSON Web Key Set: {"keys":[…]}'
  if (keys.length === 0 || keys.length > maxKeys) return `must contain 1 to ${maxKeys} keys`
  for (const [index, key] of keys.entries()) {
    const fault = keyFault(key)
    if (fault) return `keys[${index}] ${fault}`
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
  if (privateMembers.some((member) => Object.hasOwn(key, member)))
    return 'must be a public key; it contains a secret'
  if (key.use !== undefined && key.use !== 'sig') return 'must be a key for signatures'
  const isOnCurve = typeof key.crv === 'string' && curves.has(key.crv)
  if (key.kty !== 'RSA' && !isOnCurve) return 'must be an RSA key, or one on P-256, P-384, P-521 or Ed25519'
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' })
    const bits = asymmetricKeyDetails?.modulusLength
    const isAllowedSize = bits === undefined || (bits >= minRsaBits && bits <= maxRsaBits)
    return isAllowedSize ? undefined : `must have ${minRsaBits} to ${maxRsaBits} bits`
  } catch {
    return 'is not a valid key'
  }
}
