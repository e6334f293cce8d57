// Where access tokens come from when they have to be fetched. Each source remembers its token until shortly before
// it expires, and whoever asks meanwhile waits for the same answer.
import type { ExchangeRequestJson, RawTokenJson } from '../gen/platform/oidc/sts_json.ts'
import { SecurityTokenService } from '../gen/platform/oidc/sts_json.ts'
import type { Given } from './json-client.ts'
import { createClient } from './json-client.ts'
import type { Fetched, Refreshed } from './refresh-at-provider.ts'
import { refreshAtProvider } from './refresh-at-provider.ts'
import type { ConnectionOptions, TokenSource } from './transport.ts'

/** The issuer: its `baseUrl` is where tokens come from, which is the server itself unless it was set up otherwise. */
export type Issuer = Omit<ConnectionOptions, 'token'>

/** In milliseconds: how long before its end a token is no longer used, or a tenth of a shorter life. */
const margin = 60_000

export function remembering(fetchToken: () => Promise<Fetched>, now: () => number = Date.now): TokenSource {
  let known: { token: string; until: number } | undefined
  let underWay: Promise<string> | undefined

  async function renew(): Promise<string> {
    const asked = now()
    const { token, expiry } = await fetchToken()
    known = { token, until: expiry - Math.min(margin, (expiry - asked) / 10) }
    return token
  }

  function tell(): string | Promise<string> {
    if (known && now() < known.until) return known.token
    underWay ??= renew().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  function forget(token: string): void {
    if (known?.token === token) known = undefined
  }

  return Object.assign(tell, { forget })
}

export type ExchangeOptions = {
  issuer: Issuer
  /** A token of another issuer, such as that of a CI job. */
  subject: string | TokenSource
} & Pick<Given<ExchangeRequestJson>, 'identity' | 'aud' | 'scopes' | 'cap'>

/** Assumes an identity with the token of another issuer. */
export function exchanging({ issuer, subject, ...request }: ExchangeOptions): TokenSource {
  const sts = createClient(SecurityTokenService, { ...issuer, token: subject })
  return remembering(async () => fetchedOf(await sts.exchange(request, { isRepeatable: true })))
}

export type RefreshOptions = {
  issuer: Issuer
  refreshToken: string
  /** The client that a person signed in with by OpenID Connect; without one it is a token of the exchange. */
  clientId?: string | undefined
  /** Gets each refresh token that takes the place of the one before; keep it, for the old one is used up. */
  onRefreshToken?: ((refreshToken: string) => unknown) | undefined
}

/** Goes on with a sign-in. It must be the only one to use the refresh token: one that comes twice ends the sign-in. */
export function refreshing({ issuer, refreshToken, clientId, onRefreshToken }: RefreshOptions): TokenSource {
  let latest = refreshToken
  return remembering(async () => {
    const pair = await (clientId === undefined
      ? refreshAtExchange(issuer, latest)
      : refreshAtProvider(issuer, clientId, latest))
    latest = pair.refreshToken
    await onRefreshToken?.(latest)
    return pair
  })
}

async function refreshAtExchange(issuer: Issuer, token: string): Promise<Refreshed> {
  const sts = createClient(SecurityTokenService, { ...issuer, token })
  const pair = await sts.exchangeRefreshToken({})
  return { ...fetchedOf(pair.token), refreshToken: pair.refreshToken?.token || token }
}

function fetchedOf(raw: RawTokenJson | undefined): Fetched {
  if (!raw?.token) throw new TypeError('the issuer answered without a token')
  return { token: raw.token, expiry: raw.expiry ? Date.parse(raw.expiry) : 0 }
}
