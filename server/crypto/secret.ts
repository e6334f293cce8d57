// The server's secret: everything that is stored encrypted is encrypted with a key derived from it.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { RandomBytes } from './random.ts'

const nonceSize = 12
const tagSize = 16

/** `purpose` is authenticated with the ciphertext, so a value cannot be used for another purpose. */
export type Sealer = {
  wrap(purpose: string, plain: Uint8Array): Uint8Array
  unwrap(purpose: string, wrapped: Uint8Array): Buffer
}

/** Its own `wrap` and `unwrap` are for values that are stored. */
export type Secret = Sealer & {
  /** The key for a purpose, always the same. */
  derive(purpose: string): Buffer
  /**
   * Encrypts with a key of its own. Required if anyone can make the server encrypt: nonces are random, so one key must
   * not be used more than 2^32 times (NIST SP 800-38D, 8.3).
   */
  sealerFor(purpose: string): Sealer
}

/** Encrypts a text into a text that fits into a URL. */
export const sealText = (sealer: Sealer, purpose: string, plain: string): string =>
  Buffer.from(sealer.wrap(purpose, Buffer.from(plain))).toString('base64url')

export const openText = (sealer: Sealer, purpose: string, sealed: string): string =>
  sealer.unwrap(purpose, Buffer.from(sealed, 'base64url')).toString()

export function makeSecret(text: string, random: RandomBytes): Secret {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', text, '', `stemma ${purpose}`, 32))
  const sealerFor = (purpose: string) => makeSealer(derive(purpose), random)
  return { ...sealerFor('keys at rest'), derive, sealerFor }
}

function makeSealer(key: Buffer, random: RandomBytes): Sealer {
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
  }
}
