// Refresh tokens. Each can be used once and yields its successor; all tokens of one sign-in are a family. For a minute
// (grace.ts), a further use yields the successor again. A use after that means that the token or its successor was
// stolen, so the whole family is ended (RFC 9700, 4.14.2).
import { invalidField, unauthenticated } from '../../aip/errors.ts'
import { digestOf, equalInConstantTime } from '../../crypto/digest.ts'
import type { Secret } from '../../crypto/secret.ts'
import type { Store } from '../../store/db.ts'
import type { Work } from '../../store/work.ts'
import type { SignIn, TokenLimits } from '../../wire/caller.ts'
import type { IssuedToken } from '../exchange/exchange.ts'
import { lacksRequiredFactor } from '../second-factors/requirement.ts'
import { recordUse } from '../sign-in-records.ts'
import type { MintDependencies } from '../tokens/mint.ts'
import { issuableAudiences, mintToken, tokenLifetimeSeconds } from '../tokens/mint.ts'
import { isInGracePeriod } from './grace.ts'
import type { StoredToken } from './rows.ts'
import { endFamily, findRow, findUnused, insertRow, markUsed } from './rows.ts'
import type { TokenContent } from './token-format.ts'
import { decodeToken, encodeToken, newTokenId, tokenSecretOf } from './token-format.ts'

export type RefreshTokens = {
  /**
   * Starts a family and returns its sign-in, which has the id of the family. Access tokens of the family contain this
   * sign-in.
   */
  start(signIn: Omit<SignIn, 'id'>): SignIn
  /** Issues the first token of a family. */
  issue(signIn: SignIn, audience: string): Promise<IssuedToken>
  /**
   * Exchanges a token for its successor and for an access token with these limits. May be repeated for a minute. If
   * `requireAudience` throws, the token is not used up.
   */
  use(
    token: string,
    audiences: readonly string[],
    limits: TokenLimits,
    requireAudience?: RequireAudience,
  ): Promise<{ access: IssuedToken; refresh: IssuedToken }>
  /**
   * Ends the family of a token, including its access tokens. Does nothing if the token does not exist. `record` runs in
   * the same transaction.
   */
  revoke(
    token: string,
    record?: (identity: string, provider: string | undefined) => Work<void>,
  ): Promise<void>
}

type RequireAudience = (audience: string) => void

export type RefreshDependencies = MintDependencies & { store: Store; secret: Secret; baseUrl: string }

/** The lifetime of a family, from its sign-in. */
export const refreshTokenLifetimeMs = 30 * 24 * 60 * 60 * 1000

const refused = (cause: string) =>
  unauthenticated('the refresh token is not valid; sign in again', 'error="invalid_token"', new Error(cause))

export function openRefreshTokens(deps: RefreshDependencies): RefreshTokens {
  return {
    start: (signIn) => ({ ...signIn, id: newTokenId(deps.random) }),
    issue: ({ person, signedInAt, id, provider = null, hasSecondFactor = false }, audience) => {
      const expires = signedInAt * 1000 + refreshTokenLifetimeMs
      const claims = { identity: person, provider, hasSecondFactor, audience, expires }
      return deps.store.write(() => insertToken(deps, claims, { id, family: id, issued: deps.now() }))
    },
    use: (...args) => use(deps, ...args),
    async revoke(token, record) {
      const content = requireContent(token)
      await deps.store.write(function* () {
        const stored = yield* findRow(content)
        if (typeof stored === 'string') return
        yield* endFamily(stored.family, deps.now())
        if (record) yield* record(stored.identity, stored.provider ?? undefined)
      })
    },
  }
}

type TokenClaims = Pick<StoredToken, 'identity' | 'provider' | 'hasSecondFactor' | 'audience' | 'expires'>

/** The first token of a family has the id of the family. `issued` is in milliseconds since 1970. */
type NewToken = { id: string; family: string; issued: number }

function* insertToken(
  deps: RefreshDependencies,
  claims: TokenClaims,
  { id, family, issued }: NewToken,
): Work<IssuedToken> {
  yield* insertRow({ id, family, secret: tokenSecretOf(deps.secret, id), ...claims })
  return issuedToken(deps, claims, id, issued)
}

function issuedToken(
  { authUrl, secret }: RefreshDependencies,
  { identity, audience, expires }: Pick<TokenClaims, 'identity' | 'audience' | 'expires'>,
  id: string,
  issued: number,
): IssuedToken {
  const [iat, exp] = [secondsOf(issued), secondsOf(expires)]
  const content = { iss: authUrl, sub: identity, aud: audience, iat, exp, id }
  return { token: encodeToken({ ...content, secret: tokenSecretOf(secret, id) }), expiry: expires }
}

async function use(
  deps: RefreshDependencies,
  token: string,
  audiences: readonly string[],
  limits: TokenLimits,
  requireAudience?: RequireAudience,
) {
  const content = requireContent(token)
  const successor = await deps.store.write(() => replace(deps, content, audiences, requireAudience))
  if (typeof successor === 'string') throw refused(successor)
  const { signIn, audience, email, refresh } = successor
  const { person: identity } = signIn
  const expires = secondsOf(deps.now()) + tokenLifetimeSeconds
  // The same claims as in the first access token of the sign-in (login/published/tokens.ts).
  const act = { iss: deps.authUrl, sub: identity, aud: deps.authUrl }
  const claims = { identity, audience, act, limits, signIn, expires, ...(email && { email }) }
  const access = await mintToken(deps, claims)
  return { access: { token: access, expiry: expires * 1000 }, refresh }
}

type Successor = { signIn: SignIn; audience: string; email: string | undefined; refresh: IssuedToken }

/** A refusal is returned as text with its reason: throwing an error would roll back the deletion of the family. */
function* replace(
  deps: RefreshDependencies,
  content: TokenContent,
  audiences: readonly string[],
  requireAudience?: RequireAudience,
): Work<Successor | string> {
  const stored = yield* findRow(content)
  if (typeof stored === 'string') return stored
  const { family, identity, provider, email, expires, isUsed, useTime, signedOutAt } = stored
  const signedInAt = (expires - refreshTokenLifetimeMs) / 1000
  const isReused = isUsed && !isInGracePeriod(useTime, deps.now())
  if (isReused || expires <= deps.now() || signedInAt <= signedOutAt) {
    yield* endFamily(family, deps.now())
    return isReused ? 'it was used before' : 'it has expired, or its identity was signed out'
  }
  const signIn: SignIn = {
    ...{ person: identity, signedInAt, id: family, hasSecondFactor: stored.hasSecondFactor },
    ...(provider !== null && { provider }),
  }
  if (yield* lacksRequiredFactor(signIn, deps.now()))
    return 'an organization requires a second factor, which the sign-in has not proven'
  const audience = chooseAudience(deps, audiences, stored.audience)
  requireAudience?.(audience)
  const refresh = isUsed
    ? yield* findSuccessor(deps, stored)
    : yield* insertSuccessor(deps, content.id, stored, audience)
  if (typeof refresh === 'string') return refresh
  return { signIn, audience, email, refresh }
}

function* insertSuccessor(
  deps: RefreshDependencies,
  id: string,
  { family, identity, provider, hasSecondFactor, expires }: StoredToken,
  audience: string,
): Work<IssuedToken> {
  const issued = deps.now()
  yield* markUsed(id, issued)
  yield* recordUse(family, { useTime: issued })
  return yield* insertToken(
    deps,
    { identity, provider, hasSecondFactor, audience, expires },
    { id: newTokenId(deps.random), family, issued },
  )
}

/**
 * The newest token of the family, exactly as it was issued. If another program that shares the token has already used
 * its direct successor, the newest token is a later one. If another version of the server issued the newest token, its
 * secret is unknown: returns the reason of the refusal, without ending the family.
 */
function* findSuccessor(
  deps: RefreshDependencies,
  { family, identity, expires }: StoredToken,
): Work<IssuedToken | string> {
  const unused = yield* findUnused(family)
  if (!unused || !equalInConstantTime(unused.digest, digestOf(tokenSecretOf(deps.secret, unused.id))))
    return 'its successor cannot be returned again'
  const { id, audience, issued } = unused
  return issuedToken(deps, { identity, audience, expires }, id, issued)
}

function chooseAudience(
  { baseUrl, authUrl }: RefreshDependencies,
  requested: readonly string[],
  previous: string,
): string {
  const issuable = issuableAudiences(baseUrl, authUrl)
  const [audience = previous, ...others] = requested
  if (others.length > 0 || (audience !== previous && !issuable.includes(audience)))
    throw invalidField('aud', `must be exactly one of ${issuable.join(', ')}`)
  return audience
}

function requireContent(token: string): TokenContent {
  const content = decodeToken(token)
  if (!content) throw refused('it does not have the format of a refresh token')
  return content
}

const secondsOf = (time: number) => Math.floor(time / 1000)
