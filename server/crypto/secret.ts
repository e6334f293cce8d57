// The server's secret: everything that is stored encrypted is encrypted with a key derived from it.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { RandomBytes } from './random.ts'

const nonceSize = 12
const tagSize = 16

/** `purpose` is authenticated with the ciphertext, so a value cannot be used for another purpose. */
export type Secret = {
  wrap(purpose: string, plain: Uint8Array): Uint8Array
  unwrap(purpose: string, wrapped: Uint8Array): Buffer
  /** The key for a purpose, always the same. */
  derive(purpose: string): Buffer
}

/** Encrypts a text into a text that fits into a URL. */
export const sealText = (secret: Secret, purpose: string, plain: string): string =>
  Buffer.from(secret.wrap(purpose, Buffer.from(plain))).toString('base64url')

export const openText = (secret: Secret, purpose: string, sealed: string): string =>
  secret.unwrap(purpose, Buffer.from(sealed, 'base64url')).toString()

export function makeSecret(text: string, random: RandomBytes): Secret {
  const key = Buffer.from(hkdfSync('sha256', text, '', 'stemma keys at rest', 32))
  return {
    wrap(purpose, plain) {
      const nonce = random(nonceSize)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
    },
    unwrap(purpose, wrapped) {
      const bytes = Buffer.from(wrapped)
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceSize), {
        authTagLength: tagSize,
      })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceSize, nonceSize + tagSize))
      return Buffer.concat([decipher.update(bytes.subarray(nonceSize + tagSize)), decipher.final()])
    },
    derive: (purpose) => Buffer.from(hkdfSync('sha256', text, '', `stemma ${purpose}`, 32)),
  }
}
