// Sign-in for a program on another machine, as published clients do it: the address that a person opens in a
// browser carries the program's public key, and the token waits for it, encrypted.
import { createCipheriv, createPublicKey, diffieHellman, generateKeyPairSync, randomBytes } from 'node:crypto'
import { invalidField } from '../../aip/errors.ts'
import type { Work } from '../../store/work.ts'
import type { States } from './states.ts'

export type Waiting = { publicKey: string; encrypted: string }

const kind = 'HeadlessSession'
const seconds = 10 * 60
const nonceSize = 12

/** Encrypts a token for the bearer of the private key that belongs to `code`. */
export function encryptFor(code: string, token: string): Waiting {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const key = sharedSecret(code, privateKey)
  const nonce = randomBytes(nonceSize)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(token), cipher.final(), cipher.getAuthTag()])
  return { publicKey: String(publicKey.export({ format: 'jwk' }).x), encrypted: sealed.toString('base64url') }
}

/** Refuses what is no public key, or one whose secret everybody knows. */
export const requireCode = (code: string): void => void encryptFor(code, '')

function sharedSecret(code: string, privateKey: Parameters<typeof diffieHellman>[0]['privateKey']): Buffer {
  try {
    if (!/^[\w-]{43}$/.test(code)) throw new Error('it has another length')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: code }, format: 'jwk' })
    return diffieHellman({ privateKey, publicKey })
  } catch {
    throw invalidField('code', 'must be an X25519 public key, as 43 characters of base64url')
  }
}

export function* leaveFor(states: States, code: string, waiting: Waiting, identity: string): Work<void> {
  yield* states.put(kind, code, waiting, seconds, { identity })
}

export function* findFor(states: States, code: string): Work<Waiting | undefined> {
  return (yield* states.find(kind, code))?.payload as Waiting | undefined
}
