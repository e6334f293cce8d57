// Sign-in for a program on another machine, as published clients do it: the URL that a person opens in a browser
// contains the program's public key. The server encrypts the token for that key and stores it for the program.
import { createCipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { invalidField } from '../../aip/errors.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Work } from '../../store/work.ts'
import type { ExpiringStates } from './expiring-states.ts'

/** `publicKey` is the server's ephemeral X25519 key; `encrypted` is nonce, ciphertext and tag. */
export type HeadlessSession = { publicKey: string; encrypted: string }

const kind = 'HeadlessSession'
const lifetimeSeconds = 10 * 60
const nonceSize = 12

/** Encrypts a token for the program whose public key is `code`. */
export function encryptForCode(code: string, token: string, random: RandomBytes): HeadlessSession {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const key = sharedSecret(code, privateKey)
  const nonce = random(nonceSize)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(token), cipher.final(), cipher.getAuthTag()])
  return { publicKey: String(publicKey.export({ format: 'jwk' }).x), encrypted: sealed.toString('base64url') }
}

/** Refuses text that is not a public key, and keys of small order, whose shared secret everyone knows. */
export function requireHeadlessCode(code: string): void {
  sharedSecret(code, generateKeyPairSync('x25519').privateKey)
}

type PrivateKey = Parameters<typeof diffieHellman>[0]['privateKey']

function sharedSecret(code: string, privateKey: PrivateKey): Buffer {
  try {
    if (!/^[\w-]{43}$/.test(code)) throw new Error('not 43 characters of base64url')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: code }, format: 'jwk' })
    return diffieHellman({ privateKey, publicKey })
  } catch {
    throw invalidField('code', 'must be an X25519 public key, as 43 characters of base64url')
  }
}

export function* storeHeadlessSession(
  states: ExpiringStates,
  code: string,
  session: HeadlessSession,
  identity: string,
): Work<void> {
  yield* states.put(kind, code, session, lifetimeSeconds, { identity })
}

export function* findHeadlessSession(
  states: ExpiringStates,
  code: string,
): Work<HeadlessSession | undefined> {
  return (yield* states.find(kind, code))?.payload as HeadlessSession | undefined
}
