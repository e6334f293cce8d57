// Refreshes tokens at the token endpoint of OpenID Connect (RFC 6749, section 6).

import { Code } from '../gen/google/rpc/code_pb.ts'
import { checkBaseUrl } from './base-url.ts'
import { errorFromResponse } from './error-response.ts'
import { parseObject } from './json-object.ts'
import { deadlineExceeded, withNetworkErrors } from './network-errors.ts'
import type { ConnectionOptions } from './options.ts'
import { StemmaError } from './stemma-error.ts'
import { startTimeout } from './timeout.ts'
import type { AccessToken } from './token-source.ts'

/**
 * An access token and the refresh token for the next one.
 *
 * @example
 * ```ts
 * const pair: TokenPair = { token: 'eyJhbGciOi…', expiry: Date.now() + 3_600_000, refreshToken: 'q8Zr3…' }
 * ```
 */
export type TokenPair = AccessToken & { refreshToken: string }

type TokenResponse = {
  access_token?: string
  refresh_token?: string
  expires_in?: number
  error?: string
  error_description?: string
}

const defaultTimeoutMs = 60_000

/**
 * Fetches a new pair of tokens. Never retries: the refresh token may be used up although no response arrived.
 *
 * @example
 * ```ts
 * const issuer = { baseUrl: 'https://stemma.example.com' }
 * const { token, refreshToken } = await refreshWithOidc(issuer, 'stemma', 'the last refresh token')
 * ```
 */
export async function refreshWithOidc(
  issuer: ConnectionOptions,
  clientId: string,
  refreshToken: string,
): Promise<TokenPair> {
  const { now = Date.now } = issuer
  const requestedAt = now()
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }
  const { response, text } = await post(issuer, '/oauth/token', new URLSearchParams(form))
  const tokens: TokenResponse = parseObject(text) ?? {}
  if (tokens.access_token === undefined)
    throw invalidGrant(response, tokens) ?? errorFromResponse(response, text, now())
  return {
    token: tokens.access_token,
    expiry: requestedAt + (tokens.expires_in ?? 0) * 1000,
    refreshToken: tokens.refresh_token ?? refreshToken,
  }
}

async function post(
  { baseUrl, fetch = globalThis.fetch, timeoutMs = defaultTimeoutMs, headers = {} }: ConnectionOptions,
  path: string,
  body: URLSearchParams,
) {
  const base = checkBaseUrl(baseUrl)
  const { signal, clear } = startTimeout(timeoutMs, () => deadlineExceeded(timeoutMs))
  try {
    return await withNetworkErrors(base, signal, async () => {
      const response = await fetch(base + path, { method: 'POST', headers, body, redirect: 'error', signal })
      return { response, text: await response.text() }
    })
  } finally {
    clear()
  }
}

function invalidGrant({ status }: Response, { error, error_description }: TokenResponse) {
  if (error !== 'invalid_grant') return undefined
  const reason = error_description ?? 'the refresh token is not valid'
  return new StemmaError(Code.UNAUTHENTICATED, `Unauthenticated: ${reason}; sign in again`, { status })
}
