// Refresh tokens for tests, issued without a sign-in.
import { randomBytes } from 'node:crypto'
import { openRefreshTokens } from '../../server/auth/refresh/refresh-tokens.ts'
import type { Platform } from '../../server/testing/platform.ts'

/** A refresh token that the token exchange accepts. */
export async function issueRefreshToken(platform: Platform, identity: string): Promise<string> {
  const { store, keys, config } = platform
  const { authUrl, baseUrl } = config
  const tokens = openRefreshTokens({ store, keys, authUrl, baseUrl, now: Date.now, random: randomBytes })
  return (await tokens.issue(tokens.start(identity, Math.floor(Date.now() / 1000)), baseUrl)).token
}
