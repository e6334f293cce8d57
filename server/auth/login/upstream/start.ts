import * as oidc from 'openid-client'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { digestOf } from '../../../crypto/digest.ts'
import { paths } from '../paths.ts'
import type { Purpose } from './authorization-state.ts'
import { sealState, stateLifetimeMs } from './authorization-state.ts'
import { configurationOf } from './configuration.ts'
import type { KnownProvider } from './known-providers.ts'
import type { Upstream } from './upstream.ts'
import { requireProvider } from './upstream.ts'

/**
 * The URL at which a person signs in at a provider. `reference` is the uid of the provider or the domain of its
 * organization. `purpose` is the flow that the browser continues when it returns.
 */
export async function startUpstream(
  upstream: Upstream,
  reference: string,
  purpose: Purpose,
): Promise<string> {
  const { now, random } = upstream
  const provider = await requireProvider(upstream, reference)
  const configuration = await configurationOf(upstream, provider).catch((cause: unknown) => {
    throw new StatusError(Code.UNAVAILABLE, 'the sign-in of your organization cannot be reached', { cause })
  })
  const { additionalScopes, pkceEnabled, issuer, clientId } = provider.configuration
  const redirectUri = redirectUriOf(upstream, provider)
  const [nonce, verifier] = [random(32).toString('base64url'), random(32).toString('base64url')]
  const state = sealState(upstream, {
    ...{ ...purpose, provider: provider.uid, issuer, clientId, redirectUri, nonce, verifier },
    expires: now() + stateLifetimeMs,
  })
  const url = oidc.buildAuthorizationUrl(configuration, {
    ...{ redirect_uri: redirectUri, state, nonce },
    scope: [...new Set(['openid', 'email', 'profile', ...additionalScopes])].join(' '),
    ...(pkceEnabled && { code_challenge: digestOf(verifier), code_challenge_method: 'S256' }),
  })
  return url.href
}

/**
 * Each provider has its own redirect URI. Otherwise a malicious provider could send people on to another provider, whose
 * code we would then send to the malicious one (mix-up attack, RFC 9700, 4.4).
 */
const redirectUriOf = ({ authUrl }: Upstream, { uid }: KnownProvider) => `${authUrl}${paths.callback}/${uid}`
