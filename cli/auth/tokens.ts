// The tokens of a context: from their files, or fetched anew.
import * as oidc from 'openid-client'
import { call } from '../call.ts'
import type { Context } from '../context.ts'
import type { Tokens } from '../token-store.ts'
import { holdTokens, readTokens, removeExchanged, saveTokens } from '../token-store.ts'
import { NotSignedIn } from '../usage.ts'
import { atProvider } from './provider.ts'

type RawToken = { token: string; refreshToken?: string }
type TokenPair = { token: RawToken; refreshToken: RawToken }

/** Assumes an identity with a token of its own issuer; or, without one, oneself for another audience. */
export async function exchange({ issuer, audience }: Context, token: string, identity?: string) {
  const body = new URLSearchParams({ aud: audience, ...(identity !== undefined && { identity }) })
  const answer = await call<RawToken>(`${issuer}/sts/exchange`, token, { method: 'POST', body })
  return { access: answer.token, refresh: answer.refreshToken }
}

/** The tokens of a new sign-in. What was got with the one before may be somebody else's. */
export const keepTokens = (audience: string, tokens: Tokens, env: NodeJS.ProcessEnv): Promise<void> =>
  holdTokens(audience, env, async () => {
    await removeExchanged(audience, env)
    await saveTokens(audience, tokens, env)
  })

/** One with a while to live. */
export async function liveToken(context: Context, env: NodeJS.ProcessEnv): Promise<string> {
  const { api, audience } = context
  const { access, refresh } = await readTokens(audience, env)
  if (access !== undefined) return access
  if (refresh !== undefined) return refreshed(context, env)
  if (audience === api) throw notSignedIn()
  const own = await liveToken({ ...context, audience: api }, env)
  const tokens = { ...(await exchange(context, own)), from: api }
  await saveTokens(audience, tokens, env)
  return tokens.access
}

/** A refresh token is used up by it, and the next is kept. One that is used twice ends the sign-in. */
const refreshed = (context: Context, env: NodeJS.ProcessEnv): Promise<string> =>
  holdTokens(context.audience, env, async () => {
    // Another may have done it while this one waited.
    const { access, refresh } = await readTokens(context.audience, env)
    if (access !== undefined) return access
    if (refresh === undefined) throw notSignedIn()
    const tokens = await (isPublished(refresh) ? usePublished : use)(context, refresh)
    await saveTokens(context.audience, tokens, env)
    return tokens.access
  })

async function use({ issuer }: Context, refresh: string) {
  const answer = await atProvider(issuer, (provider) => oidc.refreshTokenGrant(provider, refresh))
  return { access: answer.access_token, refresh: answer.refresh_token ?? refresh }
}

async function usePublished({ issuer, audience }: Context, refresh: string) {
  const body = new URLSearchParams({ aud: audience })
  const url = `${issuer}/sts/exchange_refresh_token`
  const pair = await call<TokenPair>(url, refresh, { method: 'POST', body })
  return { access: pair.token.token, refresh: pair.refreshToken.token }
}

/** Ends the sign-in that a refresh token came from. */
export async function revoke(issuer: string, refresh: string): Promise<void> {
  const hint = { token_type_hint: 'refresh_token' }
  await atProvider(issuer, (provider) => oidc.tokenRevocation(provider, refresh, hint))
}

/** As published clients of this API have them: JSON in base64. They are refreshed in another place. */
function isPublished(refresh: string): boolean {
  try {
    const content: unknown = JSON.parse(Buffer.from(refresh, 'base64').toString())
    return typeof content === 'object' && content !== null
  } catch {
    return false
  }
}

const notSignedIn = () => new NotSignedIn('you are not signed in, or no longer: stemma auth login')
