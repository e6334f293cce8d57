// How a person finds the organization of their e-mail domain and asks for access to it.
import { create } from '@bufbuild/protobuf'
import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import type { RequestGroupAccessRequest } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  CheckEligibilityResponseSchema,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { noOrganization, tooManyRequests } from '../../../aip/errors.ts'
import { newChildUid } from '../../../aip/uid.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Work } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createEntry } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import type { Dependencies, WriteContext } from '../../dependencies.ts'
import { readResource } from '../../stored-resource.ts'
import { groupAccessRequests } from '../group-access-requests/table.ts'
import { findOrganization } from './find-organization.ts'
import { groups } from './table.ts'

export function accessMethods(deps: Dependencies) {
  const { store } = deps
  return {
    lookupGroup: ({ demand }: Call) =>
      store.read(function* () {
        yield* admitToRead(demand)
        const uid = yield* requireOrganization(demand.caller.identity)
        const group = yield* readResource(groups, uid)
        const response = create(LookupGroupResponseSchema, group ? { group } : {})
        return messageReply(LookupGroupResponseSchema, response)
      }),

    checkEligibility: ({ demand }: Call) =>
      store.read(function* () {
        yield* admitToRead(demand)
        const eligible = (yield* findOrganization(demand.caller.identity)) !== undefined
        const response = create(CheckEligibilityResponseSchema, { eligible })
        return messageReply(CheckEligibilityResponseSchema, response)
      }),

    requestGroupAccess: (call: Call<RequestGroupAccessRequest>) =>
      createOnce(
        deps,
        call,
        function* (access) {
          const { groupUid } = call.request
          yield* createAccessRequest({ ...deps, access }, groupUid, access.caller.identity)
          return messageReply(RequestGroupAccessResponseSchema, create(RequestGroupAccessResponseSchema))
        },
        () => admitToRequest(call),
      ),
  }
}

/** Only people whose e-mail domain belongs to the organization may ask for access to it. */
function* admitToRequest({ demand, request }: Call<RequestGroupAccessRequest>): Work<WriteGrants> {
  const grants = yield* admitToWrite(demand)
  const organization = yield* requireOrganization(demand.caller.identity)
  if (organization !== request.groupUid || demand.caller.limits) throw noOrganization()
  return grants
}

function* requireOrganization(identity: string): Work<string> {
  const uid = yield* findOrganization(identity)
  if (uid === undefined) throw noOrganization()
  return uid
}

function* createAccessRequest(
  { access, now, random }: WriteContext,
  organization: string,
  identity: string,
): Work<void> {
  const time = now()
  const entry = { uid: newChildUid(organization, time, random), now: time, columns: { identity } }
  try {
    yield* createEntry(access, groupAccessRequests, create(GroupAccessRequestSchema), entry)
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'foreign-key') throw noOrganization()
    if (error instanceof StoreError && error.kind === 'unique')
      throw tooManyRequests('you have asked for access already; the owners have not answered yet')
    throw error
  }
}
