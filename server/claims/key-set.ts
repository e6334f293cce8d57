// JSON Web Key Sets (RFC 7517) that callers send. Published Terraform configurations contain
// placeholders in place of key sets, so any text without a secret is stored. Only the keys that can
// verify signatures are used.
import type { JsonWebKey } from 'node:crypto'
import { createPublicKey } from 'node:crypto'

const maxKeys = 20
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const curves = new Set(['P-256', 'P-384', 'P-521', 'Ed25519'])
const minRsaBits = 2048
/** Larger keys make verification slow. */
const maxRsaBits = 8192

export type KeySet = {
  /** The keys that can verify signatures. */
  usable: JsonWebKey[]
  /** Why the text is no key set, or why some of its keys are not used. Never quotes the text. */
  faults: string[]
}

export function readKeySet(text: string): KeySet {
  const keys = keysOf(parse(text))
  if (!keys) return { usable: [], faults: ['must be a JSON Web Key Set: {"keys":[...]}'] }
  if (keys.length === 0) return { usable: [], faults: [`must contain 1 to ${maxKeys} keys`] }
  const usable: JsonWebKey[] = []
  const faults: string[] = []
  for (const [index, key] of keys.slice(0, maxKeys).entries()) {
    const fault = keyFault(key)
    if (fault) faults.push(`keys[${index}] ${fault}`)
    else usable.push(key)
  }
  return { usable, faults }
}

/** Describes why a text must not be stored. Never quotes the text, which may contain a private key. */
export function keySetFault(text: string): string | undefined {
  const value = parse(text)
  if (value === undefined ? hasSecretText(text) : hasSecretMember(value))
    return 'must contain public keys only; it contains a secret'
  const keys = keysOf(value)
  return keys && keys.length > maxKeys ? `must contain at most ${maxKeys} keys` : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function keysOf(value: unknown): JsonWebKey[] | undefined {
  const { keys } = (value ?? {}) as { keys?: unknown }
  const isList = Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null)
  return isList ? (keys as JsonWebKey[]) : undefined
}

const secretMember = new RegExp(`["'](?:${privateMembers.join('|')})["']\\s*:`)

/** Whether text looks like a private key: PEM, or JSON, even if the JSON was cut off. */
const hasSecretText = (text: string) => text.includes('PRIVATE KEY') || secretMember.test(text)

/** At any depth, since somebody may send a single key, or a key set in an envelope. */
function hasSecretMember(value: unknown): boolean {
  // Not recursive, because JSON can be nested more deeply than the stack allows.
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string' && hasSecretText(next)) return true
    if (typeof next !== 'object' || next === null) continue
    if (!Array.isArray(next) && privateMembers.some((member) => Object.hasOwn(next, member))) return true
    for (const inner of Object.values(next)) open.push(inner)
  }
  return false
}

function keyFault(key: JsonWebKey): string | undefined {
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
