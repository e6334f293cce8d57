// Time-based one-time passwords (RFC 6238) with the parameters that all authenticator apps support: SHA-1, six digits,
// 30 seconds.
import { createHmac } from 'node:crypto'
import { equalInConstantTime } from '../../crypto/digest.ts'

const periodMs = 30_000
const digits = 6
/** In steps. One suffices, because clocks of phones are rarely wrong by more (RFC 6238, 5.2). */
const maxDrift = 1
/** RFC 4226, 4: as long as the output of SHA-1. */
export const totpSecretSize = 20

export const stepAt = (now: number) => Math.floor(now / periodMs)

/** The code of a time step (RFC 4226, 5.3). */
export function codeOf(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 0xf
  const number = hash.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** The step whose code was typed; undefined if the code is wrong. Spaces between the digits are ignored. */
export function matchingStep(secret: Uint8Array, typed: string, now: number): number | undefined {
  const code = typed.replaceAll(/\s/g, '')
  const current = stepAt(now)
  let matching: number | undefined
  // All steps are compared, so that the time does not reveal which one matches.
  for (let step = current - maxDrift; step <= current + maxDrift; step++)
    if (equalInConstantTime(code, codeOf(secret, step))) matching = step
  return matching
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 without padding (RFC 4648, 6). */
export function base32Of(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    for (; bits >= 5; bits -= 5) text += alphabet[(value >>> (bits - 5)) & 31]
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text
}

/** The URI that apps read as a QR code. `issuer` and `account` are shown in the app. */
export function totpUri(secret: Uint8Array, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const parameters = new URLSearchParams({ secret: base32Of(secret), issuer })
  // Apps decode `+` in different ways.
  return `otpauth://totp/${label}?${parameters.toString().replaceAll('+', '%20')}`
}
