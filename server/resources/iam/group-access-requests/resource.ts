// Requests of people for access to an organization, which its owners approve or delete.
import { create } from '@bufbuild/protobuf'
import type {
  ApproveGroupAccessRequestRequest,
  ListGroupAccessRequestsRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import {
  GroupAccessRequestSchema,
  GroupAccessRequestsService,
} from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { newChildUid, parentOf } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import { readForDelete } from '../../../store/table.ts'
import { createIn } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource, removeEntry } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { listResources } from '../../list.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { readReply } from '../../reply.ts'
import { defineResource } from '../../resource.ts'
import { requireBelowBindingLimit } from '../binding.ts'
import { requireDelegable } from '../delegation.ts'
import { removeExpiredBlockers } from '../expired-bindings.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { groupAccessRequests } from './table.ts'

function groupAccessRequestsMethods(deps: Dependencies) {
  const { store, now, random } = deps
  return {
    getGroupAccessRequest: (call: Call) => getResource(store, groupAccessRequests, call),

    listGroupAccessRequests: (call: Call<ListGroupAccessRequestsRequest>) =>
      listResources(deps, groupAccessRequests, call),

    approveGroupAccessRequest: (call: Call<ApproveGroupAccessRequestRequest>) =>
      createOnce(deps, call, function* (grants) {
        const { uid, roleUid } = call.request
        const row = yield* readForDelete(groupAccessRequests.table, uid, { columns: ['identity'] })
        if (!row) throw notFound(GroupAccessRequestSchema.typeName, uid)
        const identity = row.columns.identity as string // the column is not null
        const group = parentOf(uid)
        yield* requireDelegable(grants, group, roleUid, 'role_uid')
        yield* requireFreshSignInForRole(deps, grants.caller, roleUid)
        const time = now()
        yield* requireBelowBindingLimit(identity, time)
        yield* removeExpiredBlockers(grants, { identity, role: roleUid, group }, time)
        const entry = {
          uid: newChildUid(group, time, random),
          now: time,
          columns: { identity, role: roleUid },
        }
        const conflict = 'the person has this role in this group already'
        yield* createIn(grants, group, roleBindings, create(RoleBindingSchema), entry, conflict)
        yield* removeEntry(grants, groupAccessRequests, uid)
        return yield* readReply(roleBindings, entry.uid, call.form, grants)
      }),

    deleteGroupAccessRequest: (call: Call) =>
      deleteResource(deps, groupAccessRequests, call, { isIdempotent: true }),
  }
}

export const groupAccessRequestsResource = defineResource({
  kind: groupAccessRequests,
  service: GroupAccessRequestsService,
  methods: groupAccessRequestsMethods,
})
