// Passwords of local accounts, stored as salted scrypt hashes.
import { scrypt, timingSafeEqual } from 'node:crypto'
import { tooManyRequests } from '../../aip/errors.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import { coreOf, isCommonPassword } from './common-passwords.ts'
import { limitConcurrency } from './limit-concurrency.ts'

/** Parameters of scrypt (RFC 7914, 2). */
export type PasswordCost = { N: number; r: number; p: number }

/** Equivalent to N=2^17, r=8, p=1 according to OWASP, with a quarter of its memory (32 MiB). */
const defaultCost: PasswordCost = { N: 2 ** 15, r: 8, p: 3 }
/**
 * Default costs of earlier versions. If the default changes, the old one must be added here: an account with an
 * unverified address is found by its address and the hash of its password (claimed-accounts.ts), so the hash is
 * computed with each of these costs.
 */
const earlierDefaultCosts: readonly PasswordCost[] = []
const maxMemory = 64 * 1024 * 1024
const hashSize = 32
export const saltSize = 16
/** A hash takes much memory and occupies a thread, so few attempts are computed at a time. */
const limits = {
  maxRunning: 2,
  maxWaiting: 64,
  refusal: () => tooManyRequests('too many people are signing in; try again in a few seconds', 5),
}

/** In code points of the normalized password. */
const minLength = 12
const maxLength = 256

/** Describes what is wrong with a new password; undefined if nothing is. */
export function passwordFault(password: string, email: string): string | undefined {
  const { length } = [...normalize(password)]
  if (length < minLength) return `must have at least ${minLength} characters`
  if (length > maxLength) return `must have at most ${maxLength} characters`
  const isGuessable = isCommonPassword(password) || isLikeAddress(password.toLowerCase(), email.toLowerCase())
  return isGuessable ? 'must be harder to guess' : undefined
}

/** Whether a password is the e-mail address or a part of the address, possibly surrounded by digits and symbols. */
function isLikeAddress(password: string, email: string): boolean {
  const [name = '', domain = ''] = email.split('@')
  const [host = ''] = domain.split('.')
  const parts = [email, name, domain, host].flatMap((part) => [part, coreOf(part)]).filter(Boolean)
  return parts.includes(password) || parts.includes(coreOf(password))
}

export type Passwords = {
  /** Uses a random salt if `salt` is undefined. */
  hash(password: string, salt?: Buffer): Promise<string>
  /** The hashes that a password may be stored as. The first has the cost of new hashes. */
  possibleHashes(password: string, salt: Buffer): Promise<[string, ...string[]]>
  /** Takes as long without a stored hash as with one, so that the time does not reveal whether an account exists. */
  verify(password: string, storedHash: string | undefined): Promise<boolean>
}

/**
 * Runs an action that computes hashes for the client with this IP address. It may have to wait for others. If too many
 * wait, it is refused before it starts.
 */
export type UsePasswords = <T>(address: string, action: (passwords: Passwords) => Promise<T>) => Promise<T>

export function limitPasswords(passwords: Passwords): UsePasswords {
  const runInTurn = limitConcurrency(limits)
  return (address, action) => runInTurn(address, () => action(passwords))
}

/** `cost` applies to new hashes. A stored hash is verified with the cost that it was made with. */
export function openPasswords(
  random: RandomBytes,
  cost = defaultCost,
  earlierCosts = earlierDefaultCosts,
): Passwords {
  const dummyHash = formatHash(cost, Buffer.alloc(saltSize), Buffer.alloc(hashSize))
  const hashWith = async (password: string, salt: Buffer, hashCost: PasswordCost) =>
    formatHash(hashCost, salt, await deriveKey(password, salt, hashCost))
  return {
    hash: (password, salt = random(saltSize)) => hashWith(password, salt, cost),
    async possibleHashes(password, salt) {
      const hashes: [string, ...string[]] = [await hashWith(password, salt, cost)]
      for (const earlier of earlierCosts) hashes.push(await hashWith(password, salt, earlier))
      return hashes
    },
    async verify(password, storedHash) {
      const stored = parseHash(storedHash || dummyHash)
      const characters = [...normalize(password)]
      const text = characters.slice(0, maxLength).join('')
      const actual = await deriveKey(text, stored.salt, stored.cost)
      const isEqual = actual.length === stored.hash.length && timingSafeEqual(actual, stored.hash)
      return isEqual && characters.length <= maxLength && Boolean(storedHash)
    },
  }
}

function formatHash({ N, r, p }: PasswordCost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

function parseHash(text: string): { cost: PasswordCost; salt: Buffer; hash: Buffer } {
  const [, N, r, p, salt = '', hash = ''] = text.split('$')
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  }
}

/** Keyboards encode accented characters differently. In NFC, all these encodings are the same password. */
const normalize = (password: string) => password.normalize('NFC')

function deriveKey(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(normalize(password), salt, hashSize, { ...cost, maxmem: maxMemory }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
