// The server's secret: everything that is stored encrypted is encrypted with a key derived from it.
import type { KeyObject } from 'node:crypto'
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from 'node:crypto'
import type { RandomBytes } from './random.ts'

const nonceSize = 12
const tagSize = 16

/** `purpose` is authenticated with the ciphertext, so a value cannot be used for another purpose. */
export type Sealer = {
  seal(purpose: string, plain: Uint8Array): Uint8Array
  open(purpose: string, sealed: Uint8Array): Buffer
}

/** `seal` and `open` of the secret itself are for values in the store. */
export type Secret = Sealer & {
  /** The key for a purpose: always the same key for the same purpose. */
  derive(purpose: string): Buffer
  /**
   * A sealer with a key of its own. Required if anyone can make the server encrypt: nonces are random, so one key must
   * not be used more than 2^32 times (NIST SP 800-38D, 8.3).
   */
  sealerFor(purpose: string): Sealer
}

/** Encrypts a text into a text that fits into a URL. */
export const sealText = (sealer: Sealer, purpose: string, plain: string): string =>
  Buffer.from(sealer.seal(purpose, Buffer.from(plain))).toString('base64url')

export const openText = (sealer: Sealer, purpose: string, sealed: string): string =>
  sealer.open(purpose, Buffer.from(sealed, 'base64url')).toString()

export function makeSecret(text: string, random: RandomBytes): Secret {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', text, '', `stemma ${purpose}`, 32))
  // A KeyObject, because Node converts a key that is a buffer for each use: sealing 400 bytes then takes 31 µs
  // in place of 5 µs.
  const sealerFor = (purpose: string) => makeSealer(createSecretKey(derive(purpose)), random)
  return { ...sealerFor('keys at rest'), derive, sealerFor }
}

function makeSealer(key: KeyObject, random: RandomBytes): Sealer {
  return {
    seal(purpose, plain) {
      const nonce = random(nonceSize)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
      const encrypted = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed)
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceSize), {
        authTagLength: tagSize,
      })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceSize, nonceSize + tagSize))
      return Buffer.concat([decipher.update(bytes.subarray(nonceSize + tagSize)), decipher.final()])
    },
  }
}
