// The OpenID Provider: authorization code with PKCE, device flow, refresh, revocation and logout, by
// oidc-provider. Its access tokens are ours (auth/tokens.ts reads them), its state lies in our store.
import type { EventEmitter } from 'node:events'
import type { Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { errors, Provider } from 'oidc-provider'
import { page } from '../../pages/frame.ts'
import { html } from '../../pages/html.ts'
import type { Store } from '../../store/db.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { idTokenAlgorithm, signingAlgorithm } from '../keys/signing-key.ts'
import { tokenLifetime } from '../tokens/mint.ts'
import type { DevicePages } from './device-pages.ts'
import { formSecretOf } from './form-secret.ts'
import { paths, prefixOf } from './paths.ts'
import { adapterOf } from './provider-adapter.ts'
import type { States } from './states.ts'
import { tokenExchange } from './token-exchange.ts'

/** The command line client, and everything else that listens on the machine of its user. */
export const nativeClient = 'stemma'
/** Stands for published clients, which sign in by `/oauth` and know nothing of authorization codes. */
export const publishedClient = 'published'

export type Profile = { name: string; email: string | undefined }

export type ProviderOptions = {
  store: Store
  states: States
  keys: KeyRing
  authUrl: string
  baseUrl: string
  cookieKeys: string[]
  devicePages: DevicePages
  findPerson(identity: string): Promise<Profile | undefined>
  onError(error: Error): void
}

const grantTypes = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** Counted from the sign-in, however often the token is exchanged for the next. */
const refreshLifetime = 30 * day
/** Without what people mistake for each other, and without words (RFC 8628, 6.1). */
const userCodes = { charset: 'base-20', mask: '****-****' } as const

/** A provider signs with the keys it was made with, so another is made when other keys are in use. */
export function openProvider(options: ProviderOptions): () => Provider {
  let made: { provider: Provider; kids: string } | undefined
  return () => {
    const { keys } = options
    const kids = `${keys.signing().kid} ${keys.idTokens().kid}`
    if (made?.kids !== kids) made = { provider: makeProvider(options), kids }
    return made.provider
  }
}

function makeProvider(options: ProviderOptions): Provider {
  const provider = new Provider(options.authUrl, configurationOf(options))
  // The address of a request is set by whoever calls, not by what a client says (login.ts).
  provider.proxy = true
  // The exchange is answered before oidc-provider sees it (login.ts), since it needs no client.
  provider.use(async (ctx, next) => {
    await next()
    const { body } = ctx as { body?: { grant_types_supported?: string[] } }
    body?.grant_types_supported?.push(tokenExchange)
  })
  provider.on('server_error', (_, error) => options.onError(error))
  // Of Koa below it, which would write to standard error.
  ;(provider as EventEmitter).on('error', options.onError)
  return provider
}

function configurationOf(options: ProviderOptions): Configuration {
  const { store, states, keys, authUrl, baseUrl, cookieKeys, devicePages, findPerson } = options
  const signing = keys.signing()
  const cookies = { httpOnly: true, overwrite: true, sameSite: 'lax', signed: true } as const
  return {
    adapter: adapterOf(store, states),
    jwks: { keys: [signing.privateJwk, keys.idTokens().privateJwk] as never[] }, // a JWK is one, whosever type
    clients: [
      {
        client_id: nativeClient,
        client_name: 'The Stemma client',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: grantTypes,
        response_types: ['code'],
        redirect_uris: ['127.0.0.1', '[::1]', 'localhost'].map((host) => `http://${host}/callback`),
      },
      {
        client_id: publishedClient,
        client_name: 'A client of this API',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [authUrl + paths.publishedReturn],
      },
    ],
    clientDefaults: { id_token_signed_response_alg: idTokenAlgorithm },
    scopes: ['openid', 'offline_access', 'email', 'profile'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // They are in the id token; there is no other place to ask.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    enabledJWA: { idTokenSigningAlgValues: [idTokenAlgorithm] },
    pkce: { required: () => true },
    extraParams: ['idp_id', 'invite', 'headless_code', 'skip_registration'],
    routes: {
      authorization: paths.authorization,
      token: paths.token,
      revocation: paths.revocation,
      device_authorization: paths.deviceAuthorization,
      code_verification: paths.device,
      end_session: paths.logout,
      jwks: paths.keys,
    },
    cookies: {
      keys: cookieKeys,
      names: { session: 'stemma_session', interaction: 'stemma_sign_in', resume: 'stemma_resume' },
      long: cookies,
      short: cookies,
    },
    ttl: {
      AuthorizationCode: minute,
      AccessToken: tokenLifetime,
      IdToken: hour,
      DeviceCode: 15 * minute,
      Interaction: hour,
      Session: day,
      Grant: refreshLifetime,
      RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? refreshLifetime,
    },
    rotateRefreshToken: true,
    // Whoever asks for it gets it: these are the clients of this server itself.
    issueRefreshToken: async (_, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    async findAccount(_, identity) {
      const person = await findPerson(identity)
      if (!person) return undefined
      const { name, email } = person
      return {
        accountId: identity,
        claims: () => ({ sub: identity, name, ...(email && { email, email_verified: true }) }),
      }
    },
    async extraTokenClaims(_, token) {
      const email = 'accountId' in token ? (await findPerson(token.accountId))?.email : undefined
      return email ? { email, email_verified: true } : undefined
    },
    loadExistingGrant: grantAsked,
    interactions: {
      url: (_, { uid }) => `${prefixOf(authUrl)}${paths.signIn}/${uid}`,
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: {
        enabled: true,
        allowedPolicy: async (_, client, token) => token.clientId === client.clientId,
      },
      deviceFlow: { enabled: true, ...userCodes, ...devicePages },
      rpInitiatedLogout: { enabled: true, logoutSource, postLogoutSuccessSource },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => baseUrl,
        useGrantedResource: () => true,
        getResourceServerInfo(_, resource) {
          if (resource !== baseUrl) throw new errors.InvalidTarget()
          return {
            scope: '',
            audience: baseUrl,
            accessTokenTTL: tokenLifetime,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: signingAlgorithm, kid: signing.kid } },
          }
        },
      },
    },
    renderError,
  }
}

/**
 * What a client of ours asks for, it has: there is nothing to consent to but the sign-in itself. Each sign-in has
 * a grant of its own, so that ending one leaves the others.
 */
async function grantAsked(ctx: KoaContextWithOIDC) {
  const { oidc } = ctx
  if (!oidc.account || !oidc.client || !oidc.result?.consent) return undefined
  const { provider, client, account, params } = oidc
  const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId })
  grant.addOIDCScope(String(params?.scope ?? 'openid'))
  await grant.save()
  return grant
}

function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut) {
  ctx.type = 'html'
  const words =
    error === 'server_error'
      ? 'Something went wrong on our side.'
      : `${error}: ${description ?? 'start again'}.`
  ctx.body = page(
    'This did not work',
    html`<p role="alert">${words}</p><p>Start again from the program that sent you here.</p>`,
  )
}

function logoutSource(ctx: KoaContextWithOIDC) {
  const { action, xsrf } = { action: ctx.oidc.urlFor('end_session_confirm'), xsrf: formSecretOf(ctx) }
  ctx.body = page(
    'Sign out?',
    html`<p>This ends your session in this browser.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${xsrf}">
<button name="logout" value="yes">Sign out</button>
<button class="plain">Stay signed in</button>
</form>`,
  )
}

function postLogoutSuccessSource(ctx: KoaContextWithOIDC) {
  ctx.body = ctx.oidc.session?.accountId
    ? page('Still signed in', html`<p>You are still signed in in this browser.</p>`)
    : page('Signed out', html`<p>You are signed out in this browser.</p>`)
}
