// Refresh tokens for tests, issued without visiting the sign-in pages.
import { randomBytes } from 'node:crypto'
import { openRefreshTokens } from '../../server/auth/refresh/refresh-tokens.ts'
import type { Platform } from '../../server/testing/platform.ts'

/** A refresh token that the token exchange accepts. */
export async function issueRefreshToken(platform: Platform, identity: string): Promise<string> {
  const { store, keys, secret, config } = platform
  const { authUrl, baseUrl } = config
  const parts = { store, keys, secret, authUrl, baseUrl, now: Date.now, random: randomBytes }
  const tokens = openRefreshTokens(parts)
  const signIn = tokens.start({ person: identity, signedInAt: Math.floor(Date.now() / 1000) })
  return (await tokens.issue(signIn, baseUrl)).token
}
