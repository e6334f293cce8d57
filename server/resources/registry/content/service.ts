// The content of repos, for the registry protocol (server/oci).
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type {
  GetNamedRepoRequest,
  GetPushAccessRequest,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Content, NamedRepoSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { emptyReply } from '../../reply.ts'
import { defineService } from '../../resource.ts'
import { blobMethods } from './blob-methods.ts'
import { findRepoFor } from './find-repo-for.ts'
import type { FoundRepo } from './found-repo.ts'
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

    getPushAccess: (call: Call<GetPushAccessRequest>) =>
      deps.store.read(function* () {
        yield* admitToRead(call.demand)
        return emptyReply
      }),

    getNamedRepo: (call: Call<GetNamedRepoRequest>) =>
      deps.store.read(function* () {
        const isAnonymous = call.demand.caller.identity === ''
        const { caller, now } = call.demand
        const grants = isAnonymous ? { caller, time: now(), list: [] } : yield* admitToRead(call.demand)
        const found = yield* findRepoFor(deps.settings, grants, call.request.name)
        return messageReply(NamedRepoSchema, create(NamedRepoSchema, namedRepo(found)))
      }),

    ...uploadMethods(deps),
    ...blobMethods(deps),
    ...manifestMethods(deps),
  }),
})

function namedRepo(found: FoundRepo): MessageInitShape<typeof NamedRepoSchema> {
  if (found.kind === 'repo') return { repo: found.uid }
  if (found.kind === 'missing') return { group: found.group, rest: found.rest }
  return found.kind === 'ambiguous' ? { namesakes: found.groups } : {}
}
