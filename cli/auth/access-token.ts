// Access tokens of a context: stored ones, and those that a refresh or an exchange returns.
import * as oidc from 'openid-client'
import type { Context } from '../context.ts'
import { defaultContext } from '../context.ts'
import { NotSignedIn } from '../failure.ts'
import type { Runtime } from '../runtime.ts'
import type { Tokens } from '../token-store.ts'
import { readTokens, removeExchangedTokens, saveTokens, withTokenLock } from '../token-store.ts'
import { fetchAuthorized } from './authorized-fetch.ts'
import { withProvider } from './oidc-client.ts'

type RawToken = { token: string; refreshToken?: string }
type TokenPair = { token: RawToken; refreshToken: RawToken }

/**
 * Exchanges a token for one with the audience of the context. The subject of the new token is `identity` or, without
 * `identity`, the subject of the old one.
 */
export async function exchangeToken({ issuer, audience }: Context, token: string, identity?: string) {
  const body = new URLSearchParams({ aud: audience, ...(identity !== undefined && { identity }) })
  const url = `${issuer}/sts/exchange`
  const response = await fetchAuthorized<RawToken>(url, token, { method: 'POST', body })
  return { access: response.token, refresh: response.refreshToken }
}

/**
 * Saves the tokens of a new sign-in. The previous sign-in may have been that of another person, so the tokens that it
 * got by exchange for other audiences are removed.
 */
export const saveSignIn = (context: Context, tokens: Tokens, runtime: Runtime): Promise<void> =>
  withTokenLock(context, runtime, async () => {
    await removeExchangedTokens(context, runtime.env)
    await saveTokens(context, tokens, runtime.env)
  })

/** Returns an access token that does not expire soon. */
export async function currentAccessToken(context: Context, runtime: Runtime): Promise<string> {
  const { api, audience } = context
  const { access, refresh } = await readTokens(context, runtime)
  if (access !== undefined) return access
  if (refresh !== undefined) return refreshTokens(context, runtime)
  if (audience === api) throw notSignedIn(context)
  const apiContext = { ...context, audience: api }
  const apiToken = await currentAccessToken(apiContext, runtime)
  const tokens = { ...(await exchangeToken(context, apiToken)), exchangedFrom: api }
  await withTokenLock(apiContext, runtime, async () => {
    // During the exchange, another process may have signed out or signed in as another person. It has removed the
    // exchanged tokens of the previous sign-in, so this one must not be added.
    const stored = await readTokens(apiContext, runtime)
    if (stored.access === apiToken) await saveTokens(context, tokens, runtime.env)
  })
  return tokens.access
}

/**
 * Exchanges the stored refresh token for new tokens and saves them. The lock prevents two processes from using
 * the same refresh token: if they do so more than a minute apart, the server ends the sign-in.
 */
const refreshTokens = (context: Context, runtime: Runtime): Promise<string> =>
  withTokenLock(context, runtime, async () => {
    // Another process may have refreshed the tokens while this one waited for the lock.
    const { access, refresh } = await readTokens(context, runtime)
    if (access !== undefined) return access
    if (refresh === undefined) throw notSignedIn(context)
    const tokens = await (isExchangeToken(refresh) ? refreshWithExchange : refreshWithOidc)(context, refresh)
    await saveTokens(context, tokens, runtime.env)
    return tokens.access
  })

async function refreshWithOidc({ issuer }: Context, refresh: string) {
  const response = await withProvider(issuer, (provider) => oidc.refreshTokenGrant(provider, refresh))
  return { access: response.access_token, refresh: response.refresh_token ?? refresh }
}

async function refreshWithExchange({ issuer, audience }: Context, refresh: string) {
  const body = new URLSearchParams({ aud: audience })
  const url = `${issuer}/sts/exchange_refresh_token`
  const pair = await fetchAuthorized<TokenPair>(url, refresh, { method: 'POST', body })
  return { access: pair.token.token, refresh: pair.refreshToken.token }
}

/** Revokes a refresh token on the server, which ends its sign-in. */
export async function revokeToken(issuer: string, refresh: string): Promise<void> {
  const hint = { token_type_hint: 'refresh_token' }
  await withProvider(issuer, (provider) => oidc.tokenRevocation(provider, refresh, hint))
}

/** Whether the token exchange issued this refresh token. Only its refresh tokens are JSON in base64. */
function isExchangeToken(refresh: string): boolean {
  try {
    const content: unknown = JSON.parse(Buffer.from(refresh, 'base64').toString())
    return typeof content === 'object' && content !== null
  } catch {
    return false
  }
}

function notSignedIn({ name }: Context): NotSignedIn {
  const flag = name === defaultContext ? '' : ` --context ${name}`
  return new NotSignedIn(`not signed in; run: stemma auth login${flag}`)
}
