// The format of refresh tokens that published clients read: base64 of JSON with `exp`.
import { createHmac } from 'node:crypto'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'

/** `id` finds the row, `secret` proves possession. The other fields are informative and never trusted. */
export type TokenContent = {
  iss: string
  sub: string
  aud: string
  iat: number
  exp: number
  id: string
  secret: string
}

const maxTokenLength = 4096

export const newTokenId = (random: RandomBytes) => random(16).toString('hex')

/**
 * The secret of the token with this id. It is derived, so that the server can return a token again to a client that has
 * not received it, although only the digest of the secret is stored.
 */
export const tokenSecretOf = (secret: Secret, id: string) =>
  createHmac('sha256', secret.derive('refresh tokens')).update(id).digest('base64url')

export const encodeToken = (content: TokenContent) => Buffer.from(JSON.stringify(content)).toString('base64')

/** Undefined if the text does not have the format. */
export function decodeToken(token: string): TokenContent | undefined {
  try {
    const content = token.length <= maxTokenLength ? JSON.parse(Buffer.from(token, 'base64').toString()) : {}
    const { id, secret } = content as Partial<TokenContent>
    const isValid = typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) && typeof secret === 'string'
    return isValid ? (content as TokenContent) : undefined
  } catch {
    return undefined
  }
}

/** Distinguishes these tokens from the refresh tokens of oidc-provider. */
export const isRefreshToken = (token: string) => decodeToken(token) !== undefined
