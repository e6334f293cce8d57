// Refresh tokens. Each can be used once and yields its successor; all tokens of one sign-in are a family. A second use
// means that the token or its successor was stolen, so the whole family is ended (RFC 9700, 4.14.2).
import { invalidField, unauthenticated } from '../../aip/errors.ts'
import type { Store } from '../../store/db.ts'
import type { Work } from '../../store/work.ts'
import type { SignIn, TokenLimits } from '../../wire/caller.ts'
import type { IssuedToken } from '../exchange/exchange.ts'
import type { MintDependencies } from '../tokens/mint.ts'
import { issuableAudiences, mintToken, tokenLifetimeSeconds } from '../tokens/mint.ts'
import { endFamily, findRow, insertRow, markUsed } from './rows.ts'
import type { TokenContent } from './token-format.ts'
import { decodeToken, encodeToken, newTokenId, newTokenSecret } from './token-format.ts'

export type RefreshTokens = {
  /**
   * Starts a family and returns its sign-in, which has the id of the family. Access tokens of the family contain this
   * sign-in.
   */
  start(signIn: Omit<SignIn, 'id'>): SignIn
  /** Issues the first token of a family. */
  issue(signIn: SignIn, audience: string): Promise<IssuedToken>
  /** Exchanges a token for its successor and for an access token with these limits. */
  use(
    token: string,
    audiences: readonly string[],
    limits: TokenLimits,
  ): Promise<{ access: IssuedToken; refresh: IssuedToken }>
  /** Ends the family of a token, including its access tokens. Does nothing if the token does not exist. */
  revoke(token: string): Promise<void>
}

export type RefreshDependencies = MintDependencies & { store: Store; baseUrl: string }

/** The lifetime of a family, from its sign-in. */
const familyLifetimeMs = 30 * 24 * 60 * 60 * 1000

const refused = (cause: string) =>
  unauthenticated('the refresh token is not valid; sign in again', 'error="invalid_token"', new Error(cause))

export function openRefreshTokens(deps: RefreshDependencies): RefreshTokens {
  return {
    start: (signIn) => ({ ...signIn, id: newTokenId(deps.random) }),
    issue: ({ person, signedInAt, id, provider = null }, audience) => {
      const claims = { identity: person, provider, audience, expires: signedInAt * 1000 + familyLifetimeMs }
      return deps.store.write(() => insertToken(deps, claims, id, id))
    },
    use: (token, audiences, limits) => use(deps, token, audiences, limits),
    async revoke(token) {
      const content = requireContent(token)
      await deps.store.write(function* () {
        const stored = yield* findRow(content)
        if (typeof stored !== 'string') yield* endFamily(stored.family, deps.now())
      })
    },
  }
}

type TokenClaims = { identity: string; provider: string | null; audience: string; expires: number }

/** The first token of a family has the id of the family. */
function* insertToken(
  { authUrl, now, random }: RefreshDependencies,
  { identity, provider, audience, expires }: TokenClaims,
  family: string,
  id = newTokenId(random),
): Work<IssuedToken> {
  const secret = newTokenSecret(random)
  yield* insertRow({ id, family, identity, provider, audience, secret, expires })
  const [iat, exp] = [secondsOf(now()), secondsOf(expires)]
  const token = encodeToken({ iss: authUrl, sub: identity, aud: audience, iat, exp, id, secret })
  return { token, expiry: expires }
}

async function use(
  deps: RefreshDependencies,
  token: string,
  audiences: readonly string[],
  limits: TokenLimits,
) {
  const content = requireContent(token)
  const successor = await deps.store.write(() => replace(deps, content, audiences))
  if (typeof successor === 'string') throw refused(successor)
  const { signIn, audience, refresh } = successor
  const expires = secondsOf(deps.now()) + tokenLifetimeSeconds
  const access = await mintToken(deps, { identity: signIn.person, audience, limits, signIn, expires })
  return { access: { token: access, expiry: expires * 1000 }, refresh }
}

type Successor = { signIn: SignIn; audience: string; refresh: IssuedToken }

/** A refusal is returned as text with its reason: throwing an error would roll back the deletion of the family. */
function* replace(
  deps: RefreshDependencies,
  content: TokenContent,
  audiences: readonly string[],
): Work<Successor | string> {
  const stored = yield* findRow(content)
  if (typeof stored === 'string') return stored
  const { family, identity, provider, expires, isUsed, signedOutAt } = stored
  const signedInAt = (expires - familyLifetimeMs) / 1000
  if (isUsed || expires <= deps.now() || signedInAt <= signedOutAt) {
    yield* endFamily(family, deps.now())
    return isUsed ? 'it was used before' : 'it has expired, or its identity was signed out everywhere'
  }
  const audience = chooseAudience(deps, audiences, stored.audience)
  yield* markUsed(content.id)
  return {
    signIn: { person: identity, signedInAt, id: family, ...(provider !== null && { provider }) },
    audience,
    refresh: yield* insertToken(deps, { identity, provider, audience, expires }, family),
  }
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
