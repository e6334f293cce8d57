import type { ExchangeRequestJson, RawTokenJson } from '../gen/platform/oidc/sts_json.ts'
import { SecurityTokenService } from '../gen/platform/oidc/sts_json.ts'
import type { DeepPartial } from './json-client.ts'
import { createClient } from './json-client.ts'
import type { ConnectionOptions } from './options.ts'
import type { AccessToken, TokenSource } from './token-source.ts'
import { cachedTokenSource } from './token-source.ts'

/**
 * Where tokens are issued. `baseUrl` is the URL of the server, or its issuer URL if the server has a separate one.
 *
 * @example
 * ```ts
 * import type { Issuer } from '@stemma/api'
 *
 * const issuer: Issuer = { baseUrl: 'https://stemma.example.com', timeoutMs: 10_000 }
 * ```
 */
export type Issuer = Omit<ConnectionOptions, 'token'>

/**
 * Options of a token exchange. `identity`, `aud`, `scopes` and `cap` are the fields of the RPC `Exchange`.
 *
 * @example
 * ```ts
 * import type { ExchangeOptions } from '@stemma/api'
 *
 * const options: ExchangeOptions = {
 *   issuer: { baseUrl: 'https://stemma.example.com' },
 *   subject: () => process.env.CI_JOB_JWT ?? '',
 *   identity: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/c07d22e19a5b4f36',
 * }
 * ```
 */
export type ExchangeOptions = {
  issuer: Issuer
  /** A token of another issuer, such as the id token of a CI job, or a source of such tokens. */
  subject: string | TokenSource
} & Pick<DeepPartial<ExchangeRequestJson>, 'identity' | 'aud' | 'scopes' | 'cap'>

/**
 * Creates a token source that exchanges tokens of another issuer for access tokens of an identity. It fetches a new
 * access token shortly before the old one expires.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { createClient, exchangeTokenSource } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const issuer = { baseUrl: 'https://stemma.example.com' }
 * const token = exchangeTokenSource({
 *   issuer,
 *   identity: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/c07d22e19a5b4f36',
 *   subject: () => readFile('/var/run/secrets/tokens/stemma', 'utf8'),
 * })
 * const groups = createClient(GroupsService, { ...issuer, token })
 * ```
 */
export function exchangeTokenSource({ issuer, subject, ...request }: ExchangeOptions): TokenSource {
  const sts = createClient(SecurityTokenService, { ...issuer, token: subject })
  return cachedTokenSource(
    async () => accessTokenOf(await sts.exchange(request, { isIdempotent: true })),
    issuer.now,
  )
}

/**
 * Converts a token of the `SecurityTokenService`. A token without `expiry` is used once and not cached: its `expiry`
 * becomes 0.
 *
 * @example
 * ```ts
 * accessTokenOf({ token: 'eyJhbGciOi…', expiry: '2026-02-01T16:45:12Z' })
 * // { token: 'eyJhbGciOi…', expiry: 1769964312000 }
 * ```
 */
export function accessTokenOf(raw: RawTokenJson | undefined): AccessToken {
  if (!raw?.token) throw new TypeError('the response of the issuer contains no token')
  return { token: raw.token, expiry: raw.expiry ? Date.parse(raw.expiry) : 0 }
}
