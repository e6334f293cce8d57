// Assuming an identity with a JSON Web Token, which another issuer or this server has signed.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { userUid } from '../../aip/uid.ts'
import type { Claims } from '../../claims/match.ts'
import type { TokenLimits } from '../../wire/caller.ts'
import { throwUnverifiable } from '../foreign-tokens/unverifiable.ts'
import { issuedAtOf, maxPullTokenAge, verifyByDiscovery, verifyForeign } from '../foreign-tokens/verify.ts'
import { newSignIn } from '../sign-outs.ts'
import { tokenLifetimeSeconds } from '../tokens/mint.ts'
import { signInOf } from '../tokens/sign-in-claim.ts'
import { limitsOf } from '../tokens/token-limits.ts'
import { assumeByProvider, findClientProviders, mayBeClientToken } from './assume-by-provider.ts'
import type { AssumeDependencies, AssumedIdentity, RequestedIdentity } from './assumed-identity.ts'
import { actOf, loadIdentity, refused } from './assumed-identity.ts'
import type { PresentedToken } from './credential.ts'

/** `requested` is the uid of the identity; if it is empty, the token's own identity is assumed. */
export async function assumeByToken(
  deps: AssumeDependencies,
  { token, claims: unverified }: PresentedToken,
  { identity: requested, identityProvider, mayBePullToken = false }: RequestedIdentity,
): Promise<AssumedIdentity> {
  const { authUrl, store, matcher, now } = deps
  const isSignedByUs = unverified.iss === authUrl
  if (!isSignedByUs && mayBeClientToken(deps, unverified, requested)) {
    const providers = await findClientProviders(store, unverified, identityProvider)
    if (providers.length > 0) return assumeByProvider(deps, token, unverified, requested, providers)
  }
  const identity = await loadIdentity(store, requested || uidOfSubject(unverified, isSignedByUs))
  // Every identity may exchange its own token for one with narrower limits.
  const isSelf = isSignedByUs && unverified.sub === identity.uid
  // Checked before any request is sent, so that a stranger's token cannot make us call a host of their choice.
  if (!isSelf && !(await matcher.acceptsIssuer(identity, unverified.iss)))
    throw refused(`${identity.uid} does not accept tokens of ${unverified.iss.slice(0, 200)}`)
  const claims = await verify(deps, token, identity, unverified, mayBePullToken)
  if (!isSelf) await requireMatch(deps, identity, claims)
  const credentialExpires = Math.min(Number(claims.exp), keyExpiryOf(identity))
  const inAnHour = Math.floor(now() / 1000) + tokenLifetimeSeconds
  return {
    ...{ identity: identity.uid, email: identity.email, act: actOf(claims) },
    limits: isSignedByUs ? limitsOf(claims) : limitsOfPullToken(identity),
    signIn: isSignedByUs ? signInOf(claims) : await newSignIn(store, identity.uid, now(), issuedAtOf(claims)),
    // Exchanging our own tokens again and again must not extend them.
    expires: isSignedByUs ? Math.min(inAnHour, Number(claims.exp ?? 0)) : inAnHour,
    credentialExpires,
  }
}

const uidOfSubject = ({ iss, sub }: Claims, isSignedByUs: boolean): string =>
  isSignedByUs ? sub : userUid(iss, sub)

async function verify(
  { authUrl, verifyOwn, issuerKeys, staticKeys, now }: AssumeDependencies,
  token: string,
  { relationship, uid }: Identity,
  { iss, sub }: Claims,
  mayBePullToken: boolean,
): Promise<Claims> {
  // Checked before static keys: the owner of an identity's keys must not be able to sign tokens in our name.
  if (iss === authUrl) return verifyOwn(token)
  if (relationship.case !== 'staticKeys') return verifyByDiscovery(token, iss, issuerKeys, now())
  const { issuerKeys: text, expirationTime, subject } = relationship.value
  if (!expirationTime || timestampMs(expirationTime) <= now()) throw refused('the static keys have expired')
  const keys = staticKeys.read(text)
  // The token cannot be verified. The error gives the reason only if the token names the subject of the identity (the
  // issuer was checked before): whoever owns the identity knows both.
  if (!keys) throw refused(`${uid} has no usable keys`, sub === subject ? noUsableKeys : undefined)
  return verifyForeign(token, iss, keys, now(), mayBePullToken ? maxPullTokenAge : undefined).catch(
    throwUnverifiable,
  )
}

/**
 * The role binding of a pull token applies to a whole group. If the pull token is for one repo, the
 * scope limits the access token to that repo.
 */
const limitsOfPullToken = ({ pullToken }: Identity): TokenLimits =>
  pullToken && pullToken.repoUid !== '' ? { scopes: [pullToken.repoUid] } : {}

/** When the static keys of an identity expire, in seconds since 1970. */
function keyExpiryOf({ relationship }: Identity): number {
  if (relationship.case !== 'staticKeys') return Number.POSITIVE_INFINITY
  const { expirationTime } = relationship.value
  return expirationTime ? Math.floor(timestampMs(expirationTime) / 1000) : 0
}

const noUsableKeys =
  'static_keys.issuer_keys of the identity contains no usable public key, so no token can be verified; have it corrected'

/**
 * The error names the mismatched claim only if issuer and subject match. A caller with another issuer or subject must
 * not learn the rules of the identity.
 */
async function requireMatch(
  { matcher }: AssumeDependencies,
  identity: Identity,
  claims: Claims,
): Promise<void> {
  const claim = await matcher.mismatchedClaim(identity, claims)
  if (claim === undefined) return
  const cause = `${identity.uid} does not accept this ${claim}`
  const isSecret = claim === 'iss' || claim === 'sub'
  throw isSecret ? refused(cause) : refused(cause, `invalid ${JSON.stringify(claim)}`)
}
