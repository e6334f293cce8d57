// The metadata that callers state about themselves, such as their job title. The company is part of the identity; the
// other fields have a table of their own.
import type { MessageShape } from '@bufbuild/protobuf'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type {
  Identity,
  IdentityMetadata,
  UpdateIdentityMetadataRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityMetadataSchema, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { invalidArgument, permissionDenied, unauthenticated } from '../../../aip/errors.ts'
import { applyMask } from '../../../aip/field-mask.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Call } from '../../../rpc/call.ts'
import type { EventDetails } from '../../../store/events/record.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { sql } from '../../../store/sql.ts'
import { groupOf } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import type { LockedResource } from '../../stored-resource.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { maskOf } from '../../update.ts'
import { identities } from './table.ts'

type LockedIdentity = LockedResource<typeof IdentitySchema, Record<never, never>>

/** Updates the metadata of the caller. */
export const updateIdentityMetadata = (
  { store, now }: Dependencies,
  call: Call<UpdateIdentityMetadataRequest>,
): Promise<Reply> =>
  store.write(function* () {
    const access = yield* admitToWrite(call.demand)
    const { identity: uid, limits } = call.demand.caller
    // A token that is limited to groups or capabilities does not stand for the whole identity.
    if (limits) throw permissionDenied(nameOf(Capability.CAP_IAM_IDENTITY_UPDATE), uid)
    const stored = yield* lockResource(identities, uid)
    if (!stored) throw unauthenticated('the identity of the caller was deleted')
    const current = metadataOf(stored.resource, yield* readStored(uid))
    const merged = mergeMetadata(current, call.request)
    yield* writeCompany(access, stored, merged.company, now())
    const reply = messageReply(IdentityMetadataSchema, merged)
    if (equals(IdentityMetadataSchema, current, merged)) return reply
    yield* writeStored(uid, merged)
    const group = groupOf(identities.table, uid)
    const details = JSON.parse(reply.json().text) as EventDetails
    yield* recordEvent(access, { group, kind: 'identities', uid, action: 'metadata-updated', details })
    return reply
  }, call.deadline)

function* readStored(uid: string): Work<IdentityMetadata> {
  const row = yield* first(sql`select proto from identity_metadata where identity = ${uid}`)
  return row ? fromBinary(IdentityMetadataSchema, row[0] as Uint8Array) : create(IdentityMetadataSchema)
}

/** The first word of a name is the given name. Names in another order are not recognised. */
function metadataOf({ uid, name, company = '' }: Identity, stored: IdentityMetadata): IdentityMetadata {
  const [givenName = '', ...others] = name.trim().split(/\s+/)
  const names = { uid, name, givenName, familyName: others.join(' ') }
  return create(IdentityMetadataSchema, { ...stored, ...names, company })
}

function mergeMetadata(
  current: IdentityMetadata,
  { identityMetadata, updateMask }: UpdateIdentityMetadataRequest,
): IdentityMetadata {
  const sent = identityMetadata ?? create(IdentityMetadataSchema)
  const mask = maskOf(IdentityMetadataSchema, sent, updateMask)
  const { merged } = applyMask(IdentityMetadataSchema, current, sent, mask)
  const [fault, ...others] = violationsOf(IdentityMetadataSchema, merged)
  if (fault) throw invalidArgument(fault, ...others)
  return Object.assign(merged as MessageShape<typeof IdentityMetadataSchema>, { hubspotUtk: '' }) // not stored
}

function* writeCompany(
  access: WriteAccess,
  { resource, updateTime }: LockedIdentity,
  company: string,
  now: number,
): Work<void> {
  if (company === (resource.company ?? '')) return
  const time = nextUpdateTime(now, updateTime)
  const { company: _, ...others } = resource
  const changed = create(IdentitySchema, {
    ...others,
    ...(company !== '' && { company }),
    updateTime: timestampFromMs(time),
  })
  yield* replaceResource(access, identities, changed, { uid: resource.uid, updateTime: time })
}

function* writeStored(uid: string, metadata: IdentityMetadata): Work<void> {
  // These fields come from the identity.
  const notStored = { uid: '', name: '', givenName: '', familyName: '', company: '' }
  const proto = toBinary(
    IdentityMetadataSchema,
    create(IdentityMetadataSchema, { ...metadata, ...notStored }),
  )
  yield sql`insert into identity_metadata (identity, proto) values (${uid}, ${proto})
    on conflict (identity) do update set proto = excluded.proto`
}
