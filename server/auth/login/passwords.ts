// Passwords of local accounts, stored as salted scrypt hashes.
import { scrypt, timingSafeEqual } from 'node:crypto'
import { tooManyRequests } from '../../aip/errors.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import { limitConcurrency } from './limit-concurrency.ts'

/** Equivalent to N=2^17, r=8, p=1 according to OWASP, with a quarter of its memory (32 MiB). */
const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const hashSize = 32
const saltSize = 16
/** Hashing takes much memory and time of a thread, so few hashes are computed at a time. */
const limits = {
  maxRunning: 2,
  maxWaiting: 64,
  refusal: () => tooManyRequests('too many people are signing in; try again in a few seconds', 5),
}

const minLength = 12
const maxLength = 256

/** Describes what is wrong with a new password. */
export function passwordFault(password: string, email: string): string | undefined {
  if ([...password].length < minLength) return `must have at least ${minLength} characters`
  if (password.length > maxLength) return `must have at most ${maxLength} characters`
  const isGuessable = password.toLowerCase() === email.toLowerCase() || /^(.)\1*$/u.test(password)
  return isGuessable ? 'must be harder to guess' : undefined
}

export type Passwords = {
  hash(password: string): Promise<string>
  /** Takes as long without a stored hash, so that the time does not reveal whether an account exists. */
  verify(password: string, storedHash: string | undefined): Promise<boolean>
}

const dummyHash = `scrypt$$$$${'A'.repeat(22)}$${'A'.repeat(43)}`

export function openPasswords(random: RandomBytes): Passwords {
  const derive = limitConcurrency(deriveKey, limits)
  return {
    async hash(password) {
      const salt = random(saltSize)
      const hash = await derive(password, salt)
      const parts = ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')]
      return parts.join('$')
    },
    async verify(password, storedHash) {
      const [, , , , salt = '', hash = ''] = (storedHash || dummyHash).split('$')
      const actual = await derive(password.slice(0, maxLength), Buffer.from(salt, 'base64url'))
      const expected = Buffer.from(hash, 'base64url')
      return actual.length === expected.length && timingSafeEqual(actual, expected) && Boolean(storedHash)
    },
  }
}

/** Keyboards compose accented characters differently; NFC makes them the same password. */
function deriveKey(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, hashSize, cost, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
