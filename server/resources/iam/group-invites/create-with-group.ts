// Creates an organization for somebody else: the first person who accepts the invite becomes its owner, and the caller
// gets no role in it.
import { create, fromBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { GroupInviteWithGroupRequest } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import type { GroupInvite } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { invalidArgument, invalidField, permissionDenied } from '../../../aip/errors.ts'
import { newChildUid } from '../../../aip/uid.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { digestOf } from '../../../crypto/digest.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import { builtInRole } from '../../../policy/built-in-roles.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import { grantedRegions } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Work } from '../../../store/work.ts'
import { createEntry } from '../../create.ts'
import type { Dependencies } from '../../dependencies.ts'
import { readReply } from '../../reply.ts'
import { createOrganization, nameFault, requireMayCreateOrganizations } from '../organization.ts'
import { makeCode } from './code.ts'
import { setExpiry } from './expiry.ts'
import { groupInvites } from './table.ts'
import { recordUnclaimed, requireFewUnclaimed } from './unclaimed-organizations.ts'

/** The caller must be allowed to create organizations, and hold the capabilities of the call in at least one group. */
export function* admitToCreateWithGroup(
  deps: Dependencies,
  { demand }: Call<GroupInviteWithGroupRequest>,
): Work<WriteGrants> {
  const grants = yield* admitToWrite({ ...demand, fault: undefined })
  const [capability = 0] = demand.capabilities
  if (grantedRegions(grants, demand.capabilities).length === 0) throw permissionDenied(nameOf(capability), '')
  yield* requireMayCreateOrganizations(deps.settings, grants)
  if (demand.fault) throw demand.fault
  return grants
}

/** Returns the invite with its code. */
export function* createWithGroup(
  deps: Dependencies,
  { request }: Call<GroupInviteWithGroupRequest>,
  grants: WriteGrants,
): Work<GroupInvite> {
  const { now, random } = deps
  const time = now()
  const creator = grants.caller.identity
  const draft = inviteOf(request, time)
  yield* requireFewUnclaimed(grants, creator, time)
  const organization = yield* createOrganization({ access: grants, now, random }, request.group)
  const { code, keyId } = makeCode(organization, random)
  draft.keyId = keyId
  const uid = newChildUid(organization, time, random)
  yield* createEntry(grants, groupInvites, draft, {
    uid,
    now: time,
    columns: { digest: digestOf(code), creator },
  })
  yield* recordUnclaimed(
    organization,
    creator,
    draft.expirationTime ? timestampMs(draft.expirationTime) : time,
  )
  const reply = yield* readReply(groupInvites, uid, 'bytes', grants)
  return Object.assign(fromBinary(GroupInviteSchema, reply.bytes()), { code })
}

/** The invite is for one person: otherwise its creator could use it later to join the organization as an owner. */
function inviteOf({ group, role, ttl, email }: GroupInviteWithGroupRequest, time: number): GroupInvite {
  const owner = builtInRole('owner').uid
  const fault = nameFault(group)
  if (fault) throw invalidField('group', `must be the name of the new organization: ${fault}`)
  if (role !== '' && role !== owner)
    throw invalidField('role', `must be empty or ${owner}, the uid of the role "owner"`)
  const draft = create(GroupInviteSchema, { roleUid: owner, email, singleUse: true })
  setExpiry(draft, ttl, time)
  const [violation, ...others] = violationsOf(GroupInviteSchema, draft)
  if (violation) throw invalidArgument(violation, ...others)
  return draft
}
