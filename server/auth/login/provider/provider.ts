// The OpenID Provider, implemented by the library oidc-provider: authorization code with PKCE, device flow, refresh,
// revocation and logout. Its access tokens have the same format as our own (tokens/mint.ts). Its state is kept by
// adapter.ts.
import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Provider } from 'oidc-provider'
import { tokenExchangeGrantType } from '../token-exchange.ts'
import { configurationOf, providerKeys } from './configuration.ts'
import type { ProviderDependencies } from './dependencies.ts'
import { recordGrants } from './record-grants.ts'
import { deriveRefreshTokenIds } from './refresh-tokens.ts'

/** Returns a getter for the provider. The keys of a provider cannot be changed, so new keys require a new provider. */
export function openProvider(deps: ProviderDependencies): () => Provider {
  let current: { provider: Provider; kids: string } | undefined
  return () => {
    const kids = providerKeys(deps.keys)
      .map(({ kid }) => kid)
      .join(' ')
    if (current?.kids !== kids) current = { provider: makeProvider(deps), kids }
    return current.provider
  }
}

function makeProvider(deps: ProviderDependencies): Provider {
  const { devicePollSeconds = 5 } = deps
  const provider = new Provider(deps.authUrl, configurationOf(deps))
  deriveRefreshTokenIds(provider, deps.successorOf)
  // Trusts the X-Forwarded headers, which this server sets itself (forward-to-oidc-provider.ts).
  provider.proxy = true
  provider.use(async (ctx, next) => {
    await next()
    const { body } = ctx as { body?: ResponseBody }
    if (body?.grant_types_supported) completeDiscovery(deps, body)
    // Without an interval, some published programs poll without a pause (RFC 8628, 3.2).
    if (body?.user_code) body.interval = devicePollSeconds
  })
  recordGrants(provider, deps.onEvent)
  provider.on('server_error', (_, error) => deps.onError(error))
  // oidc-provider is built on Koa, which writes errors to standard error unless there is a listener.
  ;(provider as EventEmitter).on('error', (error: KoaError, { req }: KoaContext) =>
    reportError(deps, error, req),
  )
  return provider
}

/** The fields of discovery documents and of responses to device authorization requests that are changed here. */
type ResponseBody = {
  grant_types_supported?: string[]
  id_token_signing_alg_values_supported?: string[]
  user_code?: string
  interval?: number
}

/**
 * Adds the grant type of the token exchange, which is handled in forward-to-oidc-provider.ts. Announces the algorithms
 * of all published keys: verifiers accept only announced ones, and OpenID Connect Discovery has no other field for the
 * algorithm of access tokens.
 */
function completeDiscovery({ keys }: ProviderDependencies, document: ResponseBody): void {
  document.grant_types_supported?.push(tokenExchangeGrantType)
  const algorithms = keys.published().flatMap(({ alg }) => alg ?? [])
  document.id_token_signing_alg_values_supported = [...new Set(algorithms)]
}

type KoaContext = { req: IncomingMessage }

/** `expose`: the client caused the error, and receives its message. */
type KoaError = Error & { expose?: boolean; error_description?: string }

/** Anyone can cause any number of disconnects and invalid requests, so these are not logged as errors of the server. */
function reportError(deps: ProviderDependencies, error: KoaError, { socket }: IncomingMessage): void {
  if (socket.errored === error) deps.onDisconnect(error)
  else if (!error.expose) deps.onError(error)
  else {
    const { address } = deps.currentPage()
    deps.logRefusal({ address, reason: error.error_description ?? error.message }, 'sign-in refused')
  }
}
