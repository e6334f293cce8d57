import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { prefixOf } from '../../../pages/url-prefix.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { SigningKey } from '../../keys/signing-key.ts'
import { idTokenAlgorithm } from '../../keys/signing-key.ts'
import { tokenLifetimeSeconds } from '../../tokens/mint.ts'
import { cookieNamesOf } from '../cookies.ts'
import { paths } from '../paths.ts'
import { accountConfiguration } from './account.ts'
import { adapterOf } from './adapter.ts'
import { clientsOf } from './clients.ts'
import type { ProviderDependencies } from './dependencies.ts'
import { featuresOf } from './features.ts'
import { errorPageOf } from './pages.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** Counted from the sign-in, however often the token is refreshed. */
const refreshLifetime = 30 * day
const sessionLifetime = day

const cookieOptions = { httpOnly: true, overwrite: true, sameSite: 'lax', signed: true } as const

export function configurationOf(deps: ProviderDependencies): Configuration {
  const { keys, authUrl, baseUrl, cookieKeys } = deps
  const { session, interaction, resume } = cookieNamesOf(authUrl)
  const names = { session, interaction, resume }
  return {
    adapter: adapterOf(deps),
    jwks: { keys: privateJwks(providerKeys(keys)) },
    clients: clientsOf(authUrl, baseUrl),
    clientDefaults: { id_token_signed_response_alg: idTokenAlgorithm },
    clientAuthMethods: ['none'],
    ...protocol,
    ...accountConfiguration(deps),
    loadExistingGrant: grantRequestedScope,
    expiresWithSession,
    interactions: { url: (_, { uid }) => `${prefixOf(authUrl)}${paths.signIn}/${uid}` },
    routes,
    cookies: {
      keys: cookieKeys,
      names,
      long: cookieOptions,
      short: cookieOptions,
    },
    ttl,
    rotateRefreshToken: true,
    // Refresh tokens need no consent: all clients belong to this server.
    issueRefreshToken: async (_, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    features: featuresOf(deps),
    renderError: errorPageOf(prefixOf(authUrl)),
  }
}

const protocol = {
  scopes: ['openid', 'offline_access', 'email', 'profile'],
  // `sign_in` lets a token exchange refuse id tokens whose sign-in has ended (tokens/verify-own.ts).
  claims: { openid: ['sub', 'sign_in'], email: ['email', 'email_verified'], profile: ['name'] },
  // Claims are in the id token, since there is no userinfo endpoint.
  conformIdTokenClaims: false,
  responseTypes: ['code'],
  enabledJWA: { idTokenSigningAlgValues: [idTokenAlgorithm] },
  pkce: { required: () => true },
  extraParams: ['idp_id', 'invite', 'headless_code', 'skip_registration'],
} satisfies Configuration

const routes: Configuration['routes'] = {
  authorization: paths.authorization,
  token: paths.token,
  revocation: paths.revocation,
  device_authorization: paths.deviceAuthorization,
  code_verification: paths.device,
  end_session: paths.logout,
  jwks: paths.keys,
}

/** In seconds. */
const ttl: Configuration['ttl'] = {
  AuthorizationCode: minute,
  AccessToken: tokenLifetimeSeconds,
  IdToken: hour,
  DeviceCode: 15 * minute,
  Interaction: hour,
  Session: sessionLifetime,
  Grant: refreshLifetime,
  RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? refreshLifetime,
}

/**
 * Whether a code or token ends with the session of the browser: yes, unless it can be refreshed (the default of
 * oidc-provider). oidc-provider saves a session when the request ends, and finds no device code whose session is not
 * saved. So the session is saved before the code: otherwise a device that polls in between would be told that its code
 * is invalid.
 */
async function expiresWithSession(
  { oidc: { session } }: KoaContextWithOIDC,
  source: { kind: string; scopes: Set<string> },
): Promise<boolean> {
  if (source.kind === 'DeviceCode' && session) {
    await session.save(sessionLifetime)
    Object.assign(session, { touched: true }) // so that it is saved again with its cookie
  }
  return !source.scopes.has('offline_access')
}

/**
 * The keys of the provider. It signs with the first key of an algorithm, so the keys in use are before those that only
 * verify.
 */
export const providerKeys = (keys: KeyRing): SigningKey[] => [
  ...new Set([keys.signing(), keys.idTokenSigning(), ...keys.idTokenKeys()]),
]

/** The types of jose and oidc-provider for a JWK differ, their content does not. */
const privateJwks = (keys: SigningKey[]) => keys.map(({ privateJwk }) => privateJwk) as never[]

/**
 * Grants a client everything that it requests: all clients belong to this server, so people consent only to the
 * sign-in. Each sign-in has its own grant, so revoking the grant does not affect other sign-ins.
 */
async function grantRequestedScope({ oidc }: KoaContextWithOIDC) {
  if (!oidc.account || !oidc.client || !oidc.result?.consent) return undefined
  const { provider, client, account, params } = oidc
  const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId })
  grant.addOIDCScope(String(params?.scope ?? 'openid'))
  await grant.save()
  return grant
}
