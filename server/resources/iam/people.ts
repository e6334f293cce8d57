// People: identities that lie in no group, each known by an issuer and what it calls them.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { parentOf, userUid } from '../../aip/uid.ts'
import { sql } from '../../store/sql.ts'
import { keptOf, selectForUpdate, updateEntry } from '../../store/table.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createEntry } from '../create.ts'
import { entryOf, factsOf, messageOf } from '../kind.ts'
import type { Surroundings } from '../surroundings.ts'
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
}

type Setting = Pick<Surroundings, 'now' | 'random'>

/** The person's uid. Whoever comes for the first time is written down. */
export function* ensurePerson({ now }: Setting, person: Person): Work<string> {
  const { issuer, subject, email } = person
  const uid = userUid(issuer, subject)
  const row = yield* first(selectForUpdate(identities.table, uid))
  if (!row) yield* createEntry(identities, identityOf(person, now()), { uid, now: now() })
  else if (email !== undefined) yield* noteEmail(uid, email, keptOf(row), now())
  return uid
}

/** Addresses change, and some are vouched for only later. */
function* noteEmail(uid: string, email: string, kept: ReturnType<typeof keptOf>, now: number): Work<void> {
  const identity = messageOf(identities, kept.proto)
  if (identity.email === email) return
  const updateTime = Math.max(now, kept.updateTime + 1)
  const { emailUnverified: _, ...rest } = identity
  const changed = create(IdentitySchema, { ...rest, email, updateTime: timestampFromMs(updateTime) })
  yield* updateEntry(identities.table, entryOf(identities, changed, factsOf(uid, changed, updateTime)))
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
 * Somebody has come by an organization's provider. At the first time they get its default role; whoever lost
 * that role later does not get it back by signing in again.
 */
export function* comeByProvider(setting: Setting, provider: string, identity: string): Work<void> {
  const row = yield* first(
    sql`select proto from identity_providers where uid = ${provider} /*pg for key share */`,
  )
  if (!row) return
  const [arrival] =
    yield sql`insert into provider_people (provider, identity) values (${provider}, ${identity})
    on conflict do nothing returning identity`
  const { defaultRole } = messageOf(identityProviders, row[0] as Uint8Array)
  if (arrival) yield* bindRole(setting, identity, defaultRole, parentOf(provider))
}
