// The content of repos, for the registry protocol (server/oci).
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { ListVisibleGroupsRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import {
  Content,
  ListVisibleGroupsResponseSchema,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { holds } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { emptyReply } from '../../reply.ts'
import { defineService } from '../../resource.ts'
import { blobMethods } from './blob-methods.ts'
import { manifestMethods } from './manifest-methods.ts'
import { uploadMethods } from './upload-methods.ts'

export const contentService = defineService({
  service: Content,
  methods: (deps: Dependencies) => ({
    getBase: (call: Call) =>
      deps.store.read(function* () {
        // The token of a client without credentials is valid as well.
        if (call.demand.caller.identity !== '') yield* admitToRead(call.demand)
        return emptyReply
      }),

    listVisibleGroups: (call: Call<ListVisibleGroupsRequest>) =>
      deps.store.read(function* () {
        const isAnonymous = call.demand.caller.identity === ''
        const { caller, now } = call.demand
        const grants = isAnonymous ? { caller, time: now(), list: [] } : yield* admitToRead(call.demand)
        const mayList = (uid: string) => holds(grants, [Capability.CAP_IAM_GROUPS_LIST], uid)
        const uids = call.request.uids.filter(mayList)
        return messageReply(
          ListVisibleGroupsResponseSchema,
          create(ListVisibleGroupsResponseSchema, { uids }),
        )
      }),

    ...uploadMethods(deps),
    ...blobMethods(deps),
    ...manifestMethods(deps),
  }),
})
