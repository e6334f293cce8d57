import { SecurityTokenService } from '../gen/platform/oidc/sts_json.ts'
import { createClient } from './json-client.ts'
import type { TokenPair } from './oidc-refresh.ts'
import { refreshWithOidc } from './oidc-refresh.ts'
import type { Issuer } from './token-exchange.ts'
import { accessTokenOf } from './token-exchange.ts'
import type { TokenSource } from './token-source.ts'
import { cachedTokenSource } from './token-source.ts'

/**
 * Options of `refreshTokenSource`.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import type { RefreshOptions } from '@stemma/api'
 *
 * const options: RefreshOptions = {
 *   issuer: { baseUrl: 'https://stemma.example.com' },
 *   refreshToken: 'the refresh token of the sign-in',
 *   clientId: 'stemma',
 *   onRefreshToken: (next) => writeFile('refresh-token', next, { mode: 0o600 }),
 * }
 * ```
 */
export type RefreshOptions = {
  issuer: Issuer
  refreshToken: string
  /**
   * Id of the OpenID Connect client that signed in. Omit it for refresh tokens in the JSON format of published clients,
   * which are renewed at `/sts/exchange_refresh_token`.
   */
  clientId?: string | undefined
  /** Receives each new refresh token. Store it: the previous one is used up. */
  onRefreshToken?: ((refreshToken: string) => unknown) | undefined
}

/**
 * Creates a token source that continues a sign-in with its refresh token. Use each refresh token in one source only:
 * the server ends the sign-in if a refresh token is used again more than a minute after its first use.
 *
 * @example
 * ```ts
 * import { readFile, writeFile } from 'node:fs/promises'
 * import { createClient, refreshTokenSource } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const issuer = { baseUrl: 'https://stemma.example.com' }
 * const token = refreshTokenSource({
 *   issuer,
 *   clientId: 'stemma',
 *   refreshToken: await readFile('refresh-token', 'utf8'),
 *   onRefreshToken: (next) => writeFile('refresh-token', next, { mode: 0o600 }),
 * })
 * const groups = createClient(GroupsService, { ...issuer, token })
 * ```
 */
export function refreshTokenSource(options: RefreshOptions): TokenSource {
  const { issuer, clientId, onRefreshToken } = options
  let { refreshToken } = options
  return cachedTokenSource(async () => {
    const pair = await (clientId === undefined
      ? refreshWithExchange(issuer, refreshToken)
      : refreshWithOidc(issuer, clientId, refreshToken))
    refreshToken = pair.refreshToken
    await onRefreshToken?.(refreshToken)
    return pair
  }, issuer.now)
}

async function refreshWithExchange(issuer: Issuer, refreshToken: string): Promise<TokenPair> {
  const sts = createClient(SecurityTokenService, { ...issuer, token: refreshToken })
  const pair = await sts.exchangeRefreshToken({})
  return { ...accessTokenOf(pair.token), refreshToken: pair.refreshToken?.token || refreshToken }
}
