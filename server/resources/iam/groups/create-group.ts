import type { CreateGroupRequest } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { failedPrecondition } from '../../../aip/errors.ts'
import { depthOf, newChildUid, newRootUid } from '../../../aip/uid.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Entry } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import type { Reply } from '../../../wire/reply.ts'
import { createEntry, createIn, draftOf } from '../../create.ts'
import type { Dependencies } from '../../dependencies.ts'
import { writtenReply } from '../../reply.ts'
import { resourceIn } from '../../request-resource.ts'
import { bindOwner, requireMayCreateOrganizations } from '../organization.ts'
import { requireOrganizationForSecondFactor } from './second-factor-requirement.ts'
import { groups } from './table.ts'

const maxDepth = 32

/** A request without a parent creates an organization, which needs no capability but has other conditions. */
export function* admitToCreate(deps: Dependencies, call: Call<CreateGroupRequest>): Work<WriteGrants> {
  const grants = yield* admitToWrite(call.demand)
  if (call.request.parent !== '') return grants
  yield* requireMayCreateOrganizations(deps.settings, grants)
  return grants
}

export function* createGroup(
  deps: Dependencies,
  call: Call<CreateGroupRequest>,
  grants: WriteGrants,
): Work<Reply> {
  const written =
    call.request.parent === ''
      ? yield* createRoot(deps, grants, call)
      : yield* createChild(deps, grants, call)
  return yield* writtenReply(groups, written, call.form, grants)
}

/** The caller becomes the owner. */
function* createRoot(deps: Dependencies, access: WriteAccess, call: Call<CreateGroupRequest>): Work<Entry> {
  const uid = newRootUid(deps.random)
  const written = yield* createEntry(access, groups, draftIn(call), { uid, now: deps.now() })
  yield* bindOwner({ ...deps, access }, uid, call.demand.caller.identity)
  return written
}

function* createChild(
  { now, random }: Dependencies,
  access: WriteAccess,
  call: Call<CreateGroupRequest>,
): Work<Entry> {
  const { parent } = call.request
  if (depthOf(parent) >= maxDepth)
    throw failedPrecondition('TREE_TOO_DEEP', `groups can be nested at most ${maxDepth} levels deep`)
  const time = now()
  const uid = newChildUid(parent, time, random)
  const draft = draftIn(call)
  requireOrganizationForSecondFactor(draft, uid)
  return yield* createIn(access, parent, groups, draft, { uid, now: time })
}

const draftIn = (call: Call<CreateGroupRequest>) => draftOf(GroupSchema, resourceIn(groups, call))
