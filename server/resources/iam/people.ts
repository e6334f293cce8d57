// People: identities that lie in no group, each known by an issuer and what it calls them.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { parentOf, userUid } from '../../aip/uid.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { createEntry } from '../create.ts'
import type { WriteContext } from '../dependencies.ts'
import { messageOf } from '../kind.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../stored-resource.ts'
import { bindRole } from './binding.ts'
import { identities } from './identities/table.ts'
import { identityProviders } from './identity-providers/table.ts'

export type Person = {
  issuer: string
  subject: string
  name: string
  /** An address that somebody vouches for whom this server believes. */
  email?: string | undefined
  emailUnverified?: string | undefined
  /** The domain whose addresses this issuer speaks for: one of them that it no longer names is no longer theirs. */
  speaksFor?: string | undefined
}

/** The person's uid. Whoever comes for the first time is written down. */
export function* ensurePerson({ access, now }: WriteContext, person: Person): Work<string> {
  const { issuer, subject } = person
  const uid = userUid(issuer, subject)
  const stored = yield* lockResource(identities, uid)
  if (!stored) yield* createEntry(access, identities, identityOf(person, now()), { uid, now: now() })
  else yield* updateEmail(access, person, stored.resource, nextUpdateTime(now(), stored.updateTime))
  return uid
}

/** Addresses change; some are verified only later, and some no longer. */
function* updateEmail(access: WriteAccess, person: Person, stored: Identity, updateTime: number): Work<void> {
  const { emailUnverified, email: known, ...rest } = stored
  const isDisowned = person.speaksFor !== undefined && known?.toLowerCase().endsWith(`@${person.speaksFor}`)
  const email = person.email ?? (isDisowned ? undefined : known)
  if (email === known) return
  const addresses = email === undefined ? { emailUnverified: known ?? emailUnverified } : { email }
  const changed = create(IdentitySchema, {
    ...rest,
    ...(addresses as { email: string }), // one of the two is there
    updateTime: timestampFromMs(updateTime),
  })
  yield* replaceResource(access, identities, changed, { uid: stored.uid, updateTime })
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
 * Somebody has come by a provider of a group. At the first time they get its default role; whoever lost that
 * role later does not get it back by signing in again, nor by another provider of the group.
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
  if (arrival) yield* bindRole(context, identity, defaultRole, group)
}
