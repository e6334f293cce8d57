// Authenticates a request to the registry. Accepted credentials: a token of the registry, an access token as a bearer
// token or as the password of `_token`, and the uid of an identity with a token that the identity accepts.
import { Code } from '../../aip/code.ts'
import { constant, StatusError, unauthenticated } from '../../aip/errors.ts'
import { registryError } from '../../aip/registry-error.ts'
import type { Caller } from '../../wire/caller.ts'
import { anonymous } from '../../wire/caller.ts'
import type { Envelope } from '../../wire/envelope.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import type { RepoNeed } from '../../wire/repo-access.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { tokenType, typeOf } from '../tokens/token-type.ts'
import type { VerifiedHeaders } from '../tokens/verified-headers.ts'
import { bearerOf, callerOf, expiryOf, isToken, openVerifiedHeaders } from '../tokens/verified-headers.ts'
import { readBasic, tokenUser } from './basic-credentials.ts'
import type { IdentityPasswords } from './identity-passwords.ts'
import type { KnownCaller } from './known-caller.ts'
import type { RegistryToken } from './registry-token.ts'
import { registryTokenType } from './registry-token.ts'

/** The audiences of access tokens that the registry accepts. */
const audiencesOf = (baseUrl: string) => [baseUrl, new URL(baseUrl).host]

const wrongAudience = (text: string) => registryError('DENIED', Code.PERMISSION_DENIED, text)

/** Throws if the registry does not accept access tokens with this audience. */
export function requireAudience(baseUrl: string, audience: string): void {
  const accepted = audiencesOf(baseUrl)
  if (!accepted.includes(audience))
    throw wrongAudience(`the audience of the token must be ${accepted.join(' or ')}`)
}

/**
 * Verifies access tokens. Their audience is the URL of the API, or its host and port if they are
 * only for the registry.
 */
export const openAccessTokens = (
  keys: KeyRing,
  { authUrl, baseUrl }: { authUrl: string; baseUrl: string },
  now: () => number,
): VerifiedHeaders<KnownCaller> =>
  openVerifiedHeaders(
    keys,
    {
      parties: { issuer: authUrl, audience: audiencesOf(baseUrl) },
      ...{ type: tokenType, requiredClaims: ['sub', 'exp', 'iat'] },
      read: (payload) => ({ caller: callerOf(payload), expires: expiryOf(payload) }),
      wrongAudience,
    },
    now,
  )

export type RegistryCredentials = {
  accessTokens: VerifiedHeaders<KnownCaller>
  passwords: IdentityPasswords
}

/**
 * The caller of credentials that are not tokens of the registry. `time` is when they must be valid;
 * by default now. A password that is not cached must be valid now.
 */
export function verifyCredentials(
  { accessTokens, passwords }: RegistryCredentials,
  authorization: string,
  address: string,
  time?: number,
): MaybePromise<KnownCaller> {
  const basic = readBasic(authorization)
  if (!basic || basic.user === tokenUser) {
    if (basic && !isToken(basic.password)) throw notToken
    const bearer = basic ? `Bearer ${basic.password}` : authorization
    return accessTokens.find(bearer, time) ?? accessTokens.verify(bearer, time)
  }
  return passwords.find(basic, time) ?? passwords.verify(basic, address)
}

const notToken = constant(unauthenticated(`the password of the user ${tokenUser} must be an access token`))

export type RegistryAuthenticatorOptions = RegistryCredentials & {
  registryTokens: VerifiedHeaders<RegistryToken>
  /** Whether requests without credentials may pull. The repo must be public as well. */
  allowsAnonymous: boolean
}

/** Synchronous if the header has a bearer token that was verified before. */
export function openRegistryAuthenticator(options: RegistryAuthenticatorOptions) {
  const { accessTokens, registryTokens, allowsAnonymous } = options

  async function verify(authorization: string, { repo, address, arriveTime }: Envelope): Promise<Caller> {
    if (readBasic(authorization) || typeOf(bearerOf(authorization)) !== registryTokenType)
      return (await verifyCredentials(options, authorization, address, arriveTime)).caller
    return callerIfCovered(await registryTokens.verify(authorization, arriveTime), repo)
  }

  return (authorization: string | undefined, envelope: Envelope): MaybePromise<Caller> => {
    if (authorization === undefined) {
      if (allowsAnonymous && envelope.repo?.action === 'pull') return anonymous
      throw missingCredentials
    }
    const { repo, arriveTime } = envelope
    const token = registryTokens.find(authorization, arriveTime)
    if (token) return callerIfCovered(token, repo)
    return accessTokens.find(authorization, arriveTime)?.caller ?? verify(authorization, envelope)
  }
}

/** Throws if the token does not allow the access. Requests that name no repo are allowed. */
function callerIfCovered({ caller, access }: RegistryToken, repo: RepoNeed | undefined): Caller {
  const isCovered = ({ name, action }: RepoNeed) =>
    access.some((allowed) => allowed.name === name && allowed.actions.includes(action))
  if (repo === undefined || isCovered(repo)) return caller
  throw insufficientScope
}

const missingCredentials = constant(
  unauthenticated('this request needs credentials; sign in to the registry'),
)

/**
 * The same error whether the caller may not do this with the repo, did not ask for it when the
 * token was issued, or the repo does not exist.
 */
const insufficientScope = constant(
  new StatusError(Code.UNAUTHENTICATED, 'the token does not allow this request', {
    headers: { 'www-authenticate': 'error="insufficient_scope"' },
  }),
)
