import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { RandomBytes } from './random.ts'

/** Has a code, so that commands print its message without a stack trace. */
class SecretFileError extends Error {
  readonly code = 'SECRET_FILE_IS_UNUSABLE'
}

/** The same as for the setting `STEMMA_SECRET_KEY`. */
const minLength = 32

/** Reads the secret of the embedded store from its folder. Creates it on first use, readable by its owner only. */
export function readSecretFile(folder: string, random: RandomBytes): string {
  const file = join(folder, 'secret.key')
  // An existing secret is only read, so a server also starts on a full disk.
  const text = readIfPresent(file) ?? createSecretFile(folder, file, random)
  const secret = text.trim()
  if (secret.length < minLength)
    throw new SecretFileError(
      `${file} must contain at least ${minLength} characters; restore it from a backup, or delete it if the store is empty`,
    )
  return secret
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

/** Returns the content of the file, which another process may have created. */
function createSecretFile(folder: string, file: string, random: RandomBytes): string {
  // Absolute, because with a relative path Node never returns from this call if the current folder
  // was deleted.
  mkdirSync(resolve(folder), { recursive: true, mode: 0o700 })
  const draft = join(folder, `.secret.${process.pid}.${random(4).toString('hex')}`)
  writeFileSync(draft, `${random(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    // Linking fails if the file exists, so two processes that start together agree on one secret.
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(file, 'utf8')
}
