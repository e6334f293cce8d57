// The tokens of a context: from their files, or fetched anew.
import { call } from '../call.ts'
import type { Context } from '../context.ts'
import type { Tokens } from '../token-store.ts'
import { readTokens, saveTokens } from '../token-store.ts'
import { NotSignedIn } from '../usage.ts'

type RawToken = { token: string; refreshToken?: string }
type TokenPair = { token: RawToken; refreshToken: RawToken }

/** Assumes an identity with a token of its own issuer. */
export async function exchange(
  { issuer, audience }: Context,
  identity: string,
  token: string,
): Promise<Tokens> {
  const body = new URLSearchParams({ aud: audience, identity })
  const answer = await call<RawToken>(`${issuer}/sts/exchange`, token, { method: 'POST', body })
  return { access: answer.token, refresh: answer.refreshToken }
}

/** One with a while to live. A refresh token is used up by it, and the next is kept. */
export async function liveToken(context: Context, env: NodeJS.ProcessEnv): Promise<string> {
  const { access, refresh } = await readTokens(context.audience, env)
  if (access !== undefined) return access
  if (refresh === undefined) throw new NotSignedIn('you are not signed in, or no longer: stemma auth login')
  const body = new URLSearchParams({ aud: context.audience })
  const url = `${context.issuer}/sts/exchange_refresh_token`
  const pair = await call<TokenPair>(url, refresh, { method: 'POST', body })
  const tokens = { access: pair.token.token, refresh: pair.refreshToken.token }
  await saveTokens(context.audience, tokens, env)
  return tokens.access
}
