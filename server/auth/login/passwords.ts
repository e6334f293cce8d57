// Passwords are kept as scrypt makes them, with a salt each. Memory and processor are lent to few at a time.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { tooManyRequests } from '../../aip/errors.ts'

/** What OWASP holds equal to 2^17, 8, 1, at a quarter of its memory. */
const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const size = 32
const mostAtOnce = 2
const mostWaiting = 64

const shortest = 12
const longest = 256

/** What is wrong with a password that somebody chooses. */
export function passwordFault(password: string, email: string): string | undefined {
  if ([...password].length < shortest) return `must have at least ${shortest} characters`
  if (password.length > longest) return `must have at most ${longest} characters`
  const isGuessable = password.toLowerCase() === email.toLowerCase() || /^(.)\1*$/u.test(password)
  return isGuessable ? 'must be harder to guess' : undefined
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Takes as long for somebody unknown as for somebody known. */
export async function isPassword(password: string, kept: string | undefined): Promise<boolean> {
  const [, , , , salt, hash] = (kept || nobody).split('$')
  const given = await derive(password.slice(0, longest), Buffer.from(salt ?? '', 'base64url'))
  const expected = Buffer.from(hash ?? '', 'base64url')
  return given.length === expected.length && timingSafeEqual(given, expected) && Boolean(kept)
}

const nobody = `scrypt$$$$${'A'.repeat(22)}$${'A'.repeat(43)}`

let running = 0
const waiting: (() => void)[] = []

async function derive(password: string, salt: Buffer): Promise<Buffer> {
  if (running >= mostAtOnce) {
    if (waiting.length >= mostWaiting) throw tooManyRequests('too many people sign in just now', 5)
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  running++
  try {
    return await new Promise((resolve, reject) => {
      // However a keyboard composes it, it is the same password.
      scrypt(password.normalize('NFC'), salt, size, cost, (error, key) =>
        error ? reject(error) : resolve(key),
      )
    })
  } finally {
    running--
    waiting.shift()?.()
  }
}
