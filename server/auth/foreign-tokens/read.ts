// Reads the claims of a token of another issuer before the signature is verified.

import type { Claims } from '../../claims/match.ts'
import { hasDuplicateMembers } from '../../wire/duplicate-members.ts'
import { unverifiable } from './unverifiable.ts'

const maxTokenLength = 16 * 1024

export const invalidForeign = (reason: string, cause?: unknown) => unverifiable(new Error(reason, { cause }))

/** The claims of a token whose signature is not verified yet: anyone may have written it. */
export function readUnverified(token: string): Claims {
  if (token.length > maxTokenLength) throw invalidForeign('the token is too long')
  const parts = token.split('.')
  if (parts.length !== 3) throw invalidForeign('the token is not a signed JSON Web Token')
  const [header, payload] = parts.slice(0, 2).map(readPart)
  if (!header || !payload) throw invalidForeign('the token is not a JSON Web Token')
  return requireClaims(payload)
}

function readPart(part: string): Record<string, unknown> | undefined {
  const text = Buffer.from(part, 'base64url').toString()
  try {
    const value = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && !hasDuplicateMembers(text) ? value : undefined
  } catch {
    return undefined
  }
}

/** Requires issuer, subject and audience. */
export function requireClaims(payload: Record<string, unknown>): Claims {
  const { iss, sub, aud } = payload
  if (!isUsable(iss)) throw invalidForeign('the token names no issuer')
  if (!isUsable(sub)) throw invalidForeign('the token names no subject')
  const audiences = Array.isArray(aud) ? aud : [aud]
  if (audiences.length === 0 || !audiences.every(isUsable))
    throw invalidForeign('the token names no audience')
  return payload as Claims // checked above
}

/** Issuer and audiences are compared with stored values before the token is verified, and PostgreSQL refuses text with NUL. */
const isUsable = (claim: unknown) => typeof claim === 'string' && claim !== '' && !claim.includes('\0')
