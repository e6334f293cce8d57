// The client configuration for a provider, from its discovery document. It is cached for ten minutes.
import * as oidc from 'openid-client'
import { issuerFault, isTrustedIssuer } from '../../../claims/issuer.ts'
import { openText } from '../../../crypto/secret.ts'
import { guardedFetch } from './guarded-fetch.ts'
import type { KnownProvider } from './known-providers.ts'
import { providerSecretPurpose } from './known-providers.ts'
import type { CachedConfiguration, Upstream } from './upstream.ts'

const freshTimeMs = 10 * 60_000
/** Negative cache: after a failure, a provider is not asked again for this long. */
const failurePauseMs = 60_000
const timeoutSeconds = 10

export function configurationOf(upstream: Upstream, provider: KnownProvider): Promise<oidc.Configuration> {
  const { configurations, now } = upstream
  const key = `${provider.uid} ${provider.updateTime}`
  const cached = configurations.get(key)
  if (cached && now() - cached.created < cached.lifetime) return cached.configuration
  const configuration = discover(upstream, provider)
  const entry: CachedConfiguration = { created: now(), lifetime: freshTimeMs, configuration }
  configuration.catch(() => {
    entry.lifetime = failurePauseMs
  })
  configurations.set(key, entry)
  return configuration
}

async function discover(upstream: Upstream, provider: KnownProvider): Promise<oidc.Configuration> {
  const { rule, outbound } = upstream
  const { issuer, clientId } = provider.configuration
  const fault = issuerFault(issuer, rule)
  if (fault) throw new Error(`the issuer ${fault}`)
  const isTrusted = isTrustedIssuer(issuer, rule)
  const clientAuth = clientAuthOf(upstream, provider)
  const configuration = await oidc.discovery(new URL(issuer), clientId, {}, clientAuth, {
    [oidc.customFetch]: guardedFetch(outbound, issuer, isTrusted),
    timeout: timeoutSeconds,
    ...(isTrusted && { execute: [oidc.allowInsecureRequests] }),
  })
  // The issuer must be the same byte for byte, as in tokens. openid-client alone would ignore some differences.
  if (configuration.serverMetadata().issuer !== issuer)
    throw new Error('the discovery document names another issuer')
  // Verifies the signature of id tokens. By default, openid-client trusts id tokens from the token endpoint, because
  // they arrive over TLS.
  oidc.enableNonRepudiationChecks(configuration)
  return configuration
}

/** Sends the client secret in the header, or in the body if the provider supports only the body. */
function clientAuthOf({ secret }: Upstream, { sealedSecret }: KnownProvider): oidc.ClientAuth {
  if (sealedSecret === '') return oidc.None()
  const clientSecret = openText(secret, providerSecretPurpose, sealedSecret)
  const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const needsPost = !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
    return needsPost ? post(server, ...rest) : basic(server, ...rest)
  }
}
