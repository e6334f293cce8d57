// The server's own secret: everything that is kept encrypted is wrapped with keys made from it.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const nonceSize = 12
const tagSize = 16

export type Secret = {
  wrap(purpose: string, plain: Uint8Array): Uint8Array
  unwrap(purpose: string, wrapped: Uint8Array): Buffer
  /** A secret of its own for a purpose, always the same. */
  derive(purpose: string): Buffer
}

/** A text, sealed and opened as a text. */
export const sealText = (secret: Secret, purpose: string, plain: string): string =>
  Buffer.from(secret.wrap(purpose, Buffer.from(plain))).toString('base64url')

export const openText = (secret: Secret, purpose: string, sealed: string): string =>
  secret.unwrap(purpose, Buffer.from(sealed, 'base64url')).toString()

export function makeSecret(text: string): Secret {
  const key = Buffer.from(hkdfSync('sha256', text, '', 'stemma keys at rest', 32))
  return {
    wrap(purpose, plain) {
      const nonce = randomBytes(nonceSize)
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

/** The embedded store's secret lies beside it, made on first use and readable by its owner alone. */
export function secretFile(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'secret.key')
  const draft = join(folder, `.secret.${process.pid}.${randomBytes(4).toString('hex')}`)
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    // Linking fails if the file is there already, so that two first starts agree on one secret.
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(file, 'utf8').trim()
}
