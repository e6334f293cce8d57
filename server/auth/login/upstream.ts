// Sign-in by the provider of an organization, through openid-client. Every request goes out by the guarded way,
// and what has to be remembered meanwhile travels with the browser, sealed.
import * as oidc from 'openid-client'
import { Code } from '../../aip/code.ts'
import { invalidField, StatusError } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import type { IssuerRule } from '../../claims/issuer.ts'
import { issuerFault, isTrustedIssuer } from '../../claims/issuer.ts'
import type { Secret } from '../../crypto/secret.ts'
import { openText, sealText } from '../../crypto/secret.ts'
import type { Store } from '../../store/db.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { paths } from './paths.ts'
import type { Person } from './people.ts'
import type { KnownProvider } from './provider-claims.ts'
import {
  findProvider,
  findProviderOf,
  isAnyProvider,
  personOf,
  providerSecretPurpose,
} from './provider-claims.ts'

export type UpstreamOptions = {
  store: Store
  secret: Secret
  reach: Outbound
  rule: IssuerRule
  authUrl: string
  now(): number
}

export type Upstream = {
  /** Where the browser goes to sign in; `named` is the uid of a provider or the domain of an organization. */
  start(named: string, interaction: string): Promise<string>
  /** Who came back. */
  finish(query: URLSearchParams, interaction: string): Promise<{ person: Person; provider: string }>
  /** To which sign-in somebody comes back at this address. */
  interactionOf(state: string, address: string): string
  /** Whose provider it is. */
  describe(named: string): Promise<{ organization: string; isVerified: boolean }>
  /** Whether any verified organization has a provider. */
  isAnyOffered(): Promise<boolean>
  /** Whether a verified organization of this name has a provider. */
  isOffered(organization: string): Promise<boolean>
}

/** What travels with the browser. */
type Journey = {
  interaction: string
  provider: string
  /** Whom it was begun with: one who was put in their place meanwhile gets nothing of it. */
  issuer: string
  clientId: string
  redirectUri: string
  nonce: string
  verifier: string
  expires: number
}

const journeyPurpose = 'journey to a provider'
const journeyTime = 15 * 60_000
const patience = 10

type Known = { made: number; life: number; configuration: Promise<oidc.Configuration> }
const fresh = 10 * 60_000
/** How long a provider that could not be asked is left alone. */
const sulk = 60_000
const mostKnown = 200

const unknown = () =>
  invalidField('organization', 'is none that signs in here by that name; ask who administers it')

const failed = (cause: unknown) =>
  new StatusError(Code.UNAUTHENTICATED, 'the sign-in at your organization did not work; try again', { cause })

export function openUpstream({ store, secret, reach, rule, authUrl, now }: UpstreamOptions): Upstream {
  const known = new Map<string, Known>()

  /**
   * Where a provider sends people back to. Those that nobody has verified have a place of their own each: a code
   * of another provider that they make people bring would come to the wrong place (RFC 9700, 4.4).
   */
  const redirectUriOf = ({ uid, domain }: KnownProvider) =>
    authUrl + paths.callback + (domain === undefined ? `/${uid}` : '')

  async function find(named: string): Promise<KnownProvider> {
    if (!/^[^\p{C}]{1,1000}$/u.test(named)) throw unknown()
    const found = await (isUid(named) ? findProvider(store, named) : findProviderOf(store, named))
    // Who signs in here by us would be who they are already.
    if (!found || found.configuration.issuer === authUrl) throw unknown()
    return found
  }

  /** The provider's own documents are read at most every ten minutes. */
  function configure(found: KnownProvider): Promise<oidc.Configuration> {
    const key = `${found.uid} ${found.updateTime}`
    const before = known.get(key)
    if (before && now() - before.made < before.life) return before.configuration
    const made: Known = { made: now(), life: fresh, configuration: discover(found) }
    made.configuration.catch(() => {
      made.life = sulk
    })
    if (known.size >= mostKnown) known.delete(known.keys().next().value as string) // not empty
    known.set(key, made)
    return made.configuration
  }

  async function discover({ configuration, sealedSecret }: KnownProvider): Promise<oidc.Configuration> {
    const { issuer, clientId } = configuration
    const fault = issuerFault(issuer, rule)
    if (fault) throw new Error(`the issuer ${fault}`)
    const isTrusted = isTrustedIssuer(issuer, rule)
    const made = await oidc.discovery(new URL(issuer), clientId, {}, authenticationOf(sealedSecret), {
      [oidc.customFetch]: guardedFetch(issuer, isTrusted),
      timeout: patience,
      ...(isTrusted && { execute: [oidc.allowInsecureRequests] }),
    })
    // Byte by byte, as tokens name it; the library is more lenient with some.
    if (made.serverMetadata().issuer !== issuer) throw new Error('it calls itself by another name')
    // What the provider says of a person is believed for its signature, not for the line it came by.
    oidc.enableNonRepudiationChecks(made)
    return made
  }

  /** In the header unless the provider takes it in the body alone. */
  function authenticationOf(sealed: string): oidc.ClientAuth {
    if (sealed === '') return oidc.None()
    const clientSecret = openText(secret, providerSecretPurpose, sealed)
    const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)]
    return (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const isInBody = !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
      return isInBody ? post(server, ...rest) : basic(server, ...rest)
    }
  }

  function guardedFetch(issuer: string, isTrusted: boolean): oidc.CustomFetch {
    return async (url, { method, headers, body }) => {
      // Trust in an issuer does not extend to wherever it points.
      const isSame = new URL(url).origin === new URL(issuer).origin
      const answer = await reach(url, isTrusted && isSame, {
        method,
        headers,
        ...(body !== undefined && body !== null && { body: String(body) }),
      })
      const kept = Object.entries(answer.headers).filter(([, value]) => typeof value === 'string')
      const text = answer.body.length > 0 ? new Uint8Array(answer.body) : null
      return new Response(text, { status: answer.status, headers: kept as [string, string][] })
    }
  }

  function journeyOf(state: string): Journey {
    try {
      const journey = JSON.parse(openText(secret, journeyPurpose, state)) as Journey
      if (journey.expires > now()) return journey
    } catch (cause) {
      throw failed(cause)
    }
    throw failed(new Error('it took too long'))
  }

  return {
    async start(named, interaction) {
      const found = await find(named)
      const configuration = await configure(found).catch((cause: unknown) => {
        throw new StatusError(Code.UNAVAILABLE, 'the sign-in of your organization cannot be reached', {
          cause,
        })
      })
      const [nonce, verifier] = [oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
      const expires = now() + journeyTime
      const { additionalScopes, pkceEnabled, issuer, clientId } = found.configuration
      const redirectUri = redirectUriOf(found)
      const journey: Journey = {
        ...{ interaction, provider: found.uid, issuer, clientId, redirectUri, nonce, verifier, expires },
      }
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', 'email', 'profile', ...additionalScopes])].join(' '),
        state: sealText(secret, journeyPurpose, JSON.stringify(journey)),
        nonce,
        ...(pkceEnabled && {
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        }),
      })
      return url.href
    },

    async finish(query, interaction) {
      const state = query.get('state') ?? ''
      const journey = journeyOf(state)
      if (journey.interaction !== interaction) throw failed(new Error('another sign-in comes back'))
      const found = await find(journey.provider)
      const { pkceEnabled, issuer, clientId } = found.configuration
      if (journey.issuer !== issuer || journey.clientId !== clientId)
        throw failed(new Error('the provider was changed meanwhile'))
      try {
        const answer = await oidc.authorizationCodeGrant(
          await configure(found),
          new URL(`${journey.redirectUri}?${query}`),
          {
            expectedState: state,
            expectedNonce: journey.nonce,
            idTokenExpected: true,
            ...(pkceEnabled && { pkceCodeVerifier: journey.verifier }),
          },
        )
        const claims = answer.claims() as oidc.IDToken // an id token was expected
        return { person: personOf(found, claims), provider: found.uid }
      } catch (cause) {
        throw failed(cause)
      }
    },

    interactionOf(state, address) {
      const { interaction, redirectUri } = journeyOf(state)
      if (redirectUri !== address) throw failed(new Error('it comes back to the place of another provider'))
      return interaction
    },

    async describe(named) {
      const { organization, domain } = await find(named)
      return { organization, isVerified: domain !== undefined }
    },

    isAnyOffered: () => isAnyProvider(store),
    isOffered: async (organization) => (await findProviderOf(store, organization)) !== undefined,
  }
}
