// People: identities outside any group, each recognised by one issuer and subject.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { lineage, parentOf, userUid } from '../../aip/uid.ts'
import { hasRoom } from '../../limits/quota/insert-within-limits.ts'
import { makeRoom, replaceMemberships } from '../../store/external-groups.ts'
import { sql } from '../../store/sql.ts'
import { updateSuspended } from '../../store/suspensions.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import type { Person } from '../../wire/person.ts'
import { createEntry } from '../create.ts'
import type { WriteContext } from '../dependencies.ts'
import { messageOf } from '../kind.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../stored-resource.ts'
import { bindRole, isBelowBindingLimit } from './binding.ts'
import { removeExpiredBlockers } from './expired-bindings.ts'
import { identities } from './identities/table.ts'
import { identityProviders } from './identity-providers/table.ts'
import { roleBindings } from './role-bindings/table.ts'

/** Returns the uid of the person's identity, which is created if it does not exist. */
export function* ensurePerson(
  { access, now }: WriteContext,
  person: Person,
): Work<{ uid: string; isNew: boolean }> {
  const { issuer, subject } = person
  const uid = userUid(issuer, subject)
  const stored = yield* lockResource(identities, uid)
  if (!stored) {
    yield* createEntry(access, identities, identityOf(person, now()), { uid, now: now() })
    // A person who has deleted their account and returns has the same uid and suspensions.
    yield* updateSuspended(uid)
  } else yield* updateEmail(access, person, stored.resource, nextUpdateTime(now(), stored.updateTime))
  return { uid, isNew: !stored }
}

/**
 * Stores an e-mail address that the issuer has verified. If the stored address belongs to the domain that the issuer
 * verifies, and the issuer no longer names it, it is marked as unverified.
 */
function* updateEmail(access: WriteAccess, person: Person, stored: Identity, updateTime: number): Work<void> {
  const { emailUnverified, email: storedEmail, ...otherFields } = stored
  const { verifiableDomain } = person
  const isOfIssuerDomain =
    verifiableDomain !== undefined && storedEmail?.toLowerCase().endsWith(`@${verifiableDomain}`)
  const email = person.email ?? (isOfIssuerDomain ? undefined : storedEmail)
  if (email === storedEmail) return
  const addresses = email === undefined ? { emailUnverified: storedEmail ?? emailUnverified } : { email }
  const changed = create(IdentitySchema, {
    ...otherFields,
    ...(addresses as { email: string }), // or `emailUnverified`: only one of the two is set
    updateTime: timestampFromMs(updateTime),
  })
  yield* replaceResource(access, identities, changed, { uid: stored.uid, updateTime })
}

/** Changes the name of a person. */
export function* renamePerson(
  { access, now }: Pick<WriteContext, 'access' | 'now'>,
  uid: string,
  name: string,
): Work<void> {
  const stored = yield* lockResource(identities, uid)
  if (!stored || stored.resource.name === name) return
  const updateTime = nextUpdateTime(now(), stored.updateTime)
  const changed = create(IdentitySchema, {
    ...stored.resource,
    name,
    updateTime: timestampFromMs(updateTime),
  })
  yield* replaceResource(access, identities, changed, { uid, updateTime })
}

/** An identity that is recognised by one issuer and one subject. */
export function identityOf({ issuer, subject, name, email, emailUnverified }: Person, now: number): Identity {
  const identity: MessageInitShape<typeof IdentitySchema> = {
    name,
    lastSeenTime: timestampFromMs(now),
    relationship: {
      case: 'claimMatch',
      value: { iss: { case: 'issuer', value: issuer }, sub: { case: 'subject', value: subject } },
    },
  }
  if (email !== undefined) identity.email = email
  else if (emailUnverified !== undefined) identity.emailUnverified = emailUnverified
  return create(IdentitySchema, identity)
}

/**
 * Binds a person to the default role of an identity provider, but only once for each group: a binding that was deleted
 * is not created again by the next sign-in, nor by another provider of the group. The table `arrivals` records which
 * people have had a default role in which group.
 */
export function* grantDefaultRole(context: WriteContext, provider: string, identity: string): Work<void> {
  const row = yield* first(
    sql`select proto from identity_providers where uid = ${provider} /*pg for key share */`,
  )
  if (!row) return
  const group = parentOf(provider)
  const [arrival] = yield sql`insert into arrivals (place, identity) values (${group}, ${identity})
    on conflict do nothing returning identity`
  const { defaultRole } = messageOf(identityProviders, row[0] as Uint8Array)
  if (!arrival) return
  const time = context.now()
  yield* removeExpiredBlockers(context.access, { identity, role: defaultRole, group }, time)
  const isPossible =
    (yield* hasRoom(context.access, roleBindings.table.name, lineage(group))) &&
    (yield* isBelowBindingLimit(identity, time))
  if (isPossible) yield* bindRole(context, identity, defaultRole, group)
  // If a limit prevents the binding, the person still signs in, and the next sign-in tries again. If the sign-in failed,
  // an organization could give a person so many role bindings that they cannot sign in to other organizations.
  else yield sql`delete from arrivals where place = ${group} and identity = ${identity}`
}

/**
 * Replaces the memberships of a person by the groups that a sign-in names. If the person would then have too many
 * memberships, those through other providers end. Returns the number of memberships that are still above the limit,
 * which are not stored.
 */
export function* replaceGroups(
  provider: string,
  identity: string,
  groupIds: readonly string[],
  expireTime: number,
): Work<number> {
  yield* makeRoom(provider, identity, 'sign-in', groupIds)
  return yield* replaceMemberships(provider, identity, 'sign-in', groupIds, expireTime)
}
