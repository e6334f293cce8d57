/**
 * A function that returns an access token. It is called for every call of a client.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import type { TokenSource } from '@stemma/api'
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const token: TokenSource = async () => (await readFile('/var/run/secrets/stemma-token', 'utf8')).trim()
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', token })
 * ```
 */
export type TokenSource = {
  (): string | Promise<string>
  /** Called with a token that the server has rejected, so that the source does not return it again. */
  invalidate?: ((token: string) => void) | undefined
}

/**
 * An access token and when it expires, in milliseconds since 1970.
 *
 * @example
 * ```ts
 * import type { AccessToken } from '@stemma/api'
 *
 * const token: AccessToken = { token: 'eyJhbGciOi…', expiry: Date.now() + 3_600_000 }
 * ```
 */
export type AccessToken = { token: string; expiry: number }

/** A token is replaced this long before it expires, or a tenth of its lifetime before, whichever is shorter. */
const maxMarginMs = 60_000

/**
 * Creates a token source that caches the token until shortly before it expires. Concurrent calls share one fetch; an
 * error is reported to all of them and not cached. `now` returns the time in milliseconds since 1970.
 *
 * @example
 * ```ts
 * import { cachedTokenSource, createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const token = cachedTokenSource(async () => {
 *   const response = await fetch('http://localhost:9000/token')
 *   return { token: await response.text(), expiry: Date.now() + 3_600_000 }
 * })
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', token })
 * ```
 */
export function cachedTokenSource(
  fetchToken: () => Promise<AccessToken>,
  now: () => number = Date.now,
): TokenSource {
  let cached: { token: string; usableUntil: number } | undefined
  let pending: Promise<string> | undefined

  async function fetchAndCache(): Promise<string> {
    const requestedAt = now()
    const { token, expiry } = await fetchToken()
    cached = { token, usableUntil: expiry - Math.min(maxMarginMs, (expiry - requestedAt) / 10) }
    return token
  }

  function currentToken(): string | Promise<string> {
    if (cached && now() < cached.usableUntil) return cached.token
    pending ??= fetchAndCache().finally(() => {
      pending = undefined
    })
    return pending
  }

  function invalidate(token: string): void {
    if (cached?.token === token) cached = undefined
  }

  return Object.assign(currentToken, { invalidate })
}
