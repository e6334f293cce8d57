// A person exchanges a token that the issuer of an identity provider has issued to the client of that provider, such as
// the id token of a sign-in that a program made itself.
//
// Anyone can create an identity provider in an organization of their own, with any issuer and with a client that they
// control, and so obtain tokens of every person who signs in to that client. Such a token must not give access to other
// organizations of the person. The new token is therefore limited to the group of the provider, unless the e-mail
// address in the presented token counts as verified: the organization of the provider then owns the domain of the
// address, and controls the sign-in of the person anyway.
import { parentOf } from '../../aip/uid.ts'
import type { Claims } from '../../claims/match.ts'
import type { Store } from '../../store/db.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import { issuedAtOf, verifyByDiscovery } from '../foreign-tokens/verify.ts'
import { chooseProvider, uidOf } from '../login/choose-provider.ts'
import type { ProvidedPerson } from '../login/people.ts'
import type { KnownProvider } from '../login/upstream/known-providers.ts'
import { findProvidersOfClients } from '../login/upstream/known-providers.ts'
import { externalIdOf, personOf } from '../login/upstream/person.ts'
import { newSignInTime, requireIssuedAfterSignOut } from '../sign-outs.ts'
import { tokenLifetimeSeconds } from '../tokens/mint.ts'
import type { AssumeDependencies, AssumedIdentity } from './assumed-identity.ts'
import { actOf, refused } from './assumed-identity.ts'

/**
 * Whether a token of another issuer may have been issued to the client of an identity provider: the call requests a
 * person, or no identity in particular, and this server is not an audience of the token.
 */
export const mayBeClientToken = (
  { ownAudiences }: AssumeDependencies,
  { aud }: Claims,
  requested: string,
): boolean => parentOf(requested) === '' && ![aud].flat().some((audience) => ownAudiences.includes(audience))

/** The providers whose client a token is for. `uid` is the one to use; empty for any. */
export const findClientProviders = (
  store: Store,
  { iss, aud }: Claims,
  uid: string,
): Promise<KnownProvider[]> => findProvidersOfClients(store, iss, [aud].flat(), uid)

export async function assumeByProvider(
  deps: AssumeDependencies,
  token: string,
  { iss }: Claims,
  requested: string,
  providers: readonly KnownProvider[],
): Promise<AssumedIdentity> {
  const { store, issuerKeys, now } = deps
  const claims = await verifyByDiscovery(token, iss, issuerKeys, now())
  const candidates = providers
    .flatMap((provider) => candidateOf(provider, claims))
    .filter((candidate) => requested === '' || requested === uidOf(candidate))
  const assumed = await store.write(() => signInThroughOne(deps, candidates, issuedAtOf(claims)))
  if (!assumed) throw refused('the token names no registered person')
  return {
    ...assumed,
    act: actOf(claims),
    expires: Math.floor(now() / 1000) + tokenLifetimeSeconds,
    credentialExpires: Number(claims.exp),
  }
}

/**
 * The person whom a token names by the settings of a provider. None if the token lacks the claim by which the provider
 * identifies people.
 */
function candidateOf(provider: KnownProvider, claims: Claims): ProvidedPerson[] {
  try {
    const person = personOf(provider, claims)
    return [{ person, provider: provider.uid, externalId: externalIdOf(provider, person) }]
  } catch {
    return []
  }
}

/**
 * Signs a registered person in through one of the providers. Unlike a sign-in in the browser, it
 * does not make the person a member of the provider's SCIM groups: the organization that controls
 * the provider's client can obtain such a token without the consent of the person. Undefined if
 * nobody is registered.
 */
function* signInThroughOne(
  { people, now }: AssumeDependencies,
  candidates: readonly ProvidedPerson[],
  issuedAt: number,
): Work<Omit<AssumedIdentity, 'act' | 'expires' | 'credentialExpires'> | undefined> {
  const provided = yield* chooseProvider(people, yield* registeredAmong(candidates), {
    issuedAt,
    time: now(),
  })
  if (!provided) return undefined
  const { provider, person } = provided
  const uid = uidOf(provided)
  yield* people.ensureProvided(provided)
  yield* requireIssuedAfterSignOut(uid, issuedAt, provider)
  const signedInAt = yield* newSignInTime(uid, now(), provider)
  return {
    identity: uid,
    email: person.email,
    limits: person.email === undefined ? { scopes: [parentOf(provider)] } : {},
    signIn: { person: uid, signedInAt, id: '', provider },
  }
}

function* registeredAmong(candidates: readonly ProvidedPerson[]): Work<ProvidedPerson[]> {
  if (candidates.length === 0) return []
  const uids = [...new Set(candidates.map(uidOf))]
  const rows = yield* all(sql`select uid from identities where uid in ${among(uids)}`)
  const registered = new Set(rows.map(([uid]) => uid))
  return candidates.filter((candidate) => registered.has(uidOf(candidate)))
}
