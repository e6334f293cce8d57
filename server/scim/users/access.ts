// The effect of SCIM users on access. When a user is deactivated or deleted, the sign-ins of its
// person through this identity provider end, and so do the roles that its groups gave. Sign-ins
// through other providers continue.
import { fromBinary } from '@bufbuild/protobuf'
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  IdentityProviderSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { userUid } from '../../aip/uid.ts'
import {
  accountDeactivated,
  allowAtProvider,
  blockAtProvider,
  notProvisioned,
  writeBlocks,
} from '../../auth/provider-sign-outs.ts'
import { lockScimSettings } from '../../store/scim-settings.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import type { Person } from '../../wire/person.ts'
import { grantMemberships, joinGroups, revokeMemberships } from '../groups/memberships.ts'

/** `identity` is the person of a user, null until they have signed in through the provider. */
export type UserAccess = { externalId: string | null; isActive: boolean; identity: string | null }

type AccessChange = {
  provider: string
  /** The uid of the user. */
  user: string
  /** Undefined for a new user. */
  before: UserAccess | undefined
  after: Omit<UserAccess, 'identity'>
  now: number
}

/** Applies a change of a user. Returns the person of the user, if they have signed in. */
export function* applyAccess({ provider, user, before, after, now }: AccessChange): Work<string | null> {
  const isSamePerson = before !== undefined && before.externalId === after.externalId
  if (before && !isSamePerson) yield* endAccess(provider, before, now)
  const identity = isSamePerson ? before.identity : null
  if (isSamePerson && before.isActive === after.isActive) return identity
  const access = { externalId: after.externalId, identity }
  if (after.isActive) yield* beginAccess(provider, user, access, now)
  else yield* endAccess(provider, access, now)
  return identity
}

type PersonReference = Pick<UserAccess, 'externalId' | 'identity'>

function* beginAccess(provider: string, user: string, named: PersonReference, now: number): Work<void> {
  for (const person of yield* peopleNamedBy(provider, named)) yield* allowAtProvider(provider, person, now)
  if (named.identity !== null) yield* grantMemberships(provider, user, named.identity)
}

export function* endAccess(provider: string, named: PersonReference, now: number): Work<void> {
  const existing = yield* existingAmong(yield* peopleNamedBy(provider, named))
  for (const person of existing) {
    yield* blockAtProvider(provider, person, now)
    yield* revokeMemberships(provider, person)
  }
}

/**
 * The people whose access depends on a user: the one who has signed in since the user was created,
 * and the one whom its externalId names, who may have signed in before that. If the externalId
 * names somebody who does not use this provider, they lose nothing: only sign-ins through this
 * provider and roles in its group are affected. Sorted, so that people are always locked in the
 * same order. They may have deleted their accounts.
 */
function* peopleNamedBy(provider: string, { externalId, identity }: PersonReference): Work<string[]> {
  const named = externalId === null ? undefined : yield* personUid(provider, externalId)
  return [...new Set([identity, named])].filter((uid) => uid !== null && uid !== undefined).sort()
}

function* existingAmong(people: readonly string[]): Work<string[]> {
  if (people.length === 0) return []
  const rows = yield* all(sql`select uid from identities where uid in ${among(people)} order by uid`)
  return rows.map(([uid]) => uid as string)
}

/**
 * Suspends a person who was created in this transaction, if a provider has deactivated them
 * already: when it did, there was nobody to block. They have signed in through another provider
 * with the same issuer. On PostgreSQL, the lock waits for a concurrent change of the user to end,
 * and a later change finds the person.
 */
export function* suspendNewPerson(identity: string, { issuer, subject }: Person, now: number): Work<void> {
  const externalIds = [subject, subject.replace(/^oid:/, '')]
  const rows = yield* all(sql`select p.uid, p.proto, u.external_id, u.is_active
    from identity_providers p cross join scim_users u
    where p.issuer = ${issuer} and u.provider = p.uid and u.external_id in ${among(externalIds)}
    order by u.uid /*pg for share of u */`)
  const providers = (rows as [string, Uint8Array, string, number][])
    .filter(([, proto, externalId, isActive]) => isActive === 0 && personIn(proto, externalId) === identity)
    .map(([provider]) => provider)
  if (providers.length > 0) yield* writeBlocks(providers, identity, now)
}

function* personUid(provider: string, externalId: string): Work<string | undefined> {
  const row = yield* first(sql`select proto from identity_providers where uid = ${provider}`)
  return row && personIn(row[0] as Uint8Array, externalId)
}

/** The uid of the person who signs in through a provider with this id (see auth/login/upstream/person.ts). */
function personIn(provider: Uint8Array, externalId: string): string {
  const { configuration } = fromBinary(IdentityProviderSchema, provider)
  const { issuer = '', correlationRule } = configuration.value ?? {}
  const isByOid = correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID
  return userUid(issuer, isByOid ? `oid:${externalId}` : externalId)
}

/**
 * Requires that a person may sign in through a provider. Without a SCIM user, they may only if the provider does not
 * provision people. Returns the uid of the user.
 *
 * Until the transaction ends, no other one changes users and groups of the provider. Otherwise `linkPerson` could give
 * the person a membership that a concurrent request removes, and that request would not know of the person.
 */
export function* requireProvisioned(provider: string, externalId: string): Work<string | undefined> {
  // A provider without settings has no users.
  const settings = yield* lockScimSettings(provider)
  const row =
    settings &&
    (yield* first(sql`select uid, is_active from scim_users
      where provider = ${provider} and external_id = ${externalId}`))
  if (!row && settings?.isEnabled) throw notProvisioned()
  if (row && row[1] !== 1) throw accountDeactivated()
  return row?.[0] as string | undefined
}

/**
 * Records who the person of a user is, after `requireProvisioned` has returned the user, and makes
 * them a member of the user's groups. Only for a sign-in in the browser, which shows that the
 * person consents.
 */
export function* linkPerson(provider: string, user: string, identity: string, now: number): Work<void> {
  const row = yield* first(sql`select identity from scim_users where uid = ${user}`)
  const previous = row?.[0] as string | null
  // The issuer of the provider was changed, so the same user is another person now.
  if (previous && previous !== identity)
    yield* endAccess(provider, { externalId: null, identity: previous }, now)
  if (previous !== identity) yield sql`update scim_users set identity = ${identity} where uid = ${user}`
  yield* joinGroups(provider, user, identity)
}
