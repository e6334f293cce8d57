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
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { emptyReply, messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { defineService } from '../../resource.ts'
import type { FoundRepo } from '../found-repo.ts'
import { blobMethods } from './blob-methods.ts'
import { findRepoFor } from './find-repo-for.ts'
import { manifestMethods } from './manifest-methods.ts'
import { uploadMethods } from './upload-methods.ts'

export const contentService = defineService({
  service: Content,
  methods: (deps: Dependencies) => ({
    getBase: (call: Call) => deps.store.read(() => admitAnyone(call)),

    getPushAccess: (call: Call<GetPushAccessRequest>) => deps.store.read(() => admitPusher(call)),

    getNamedRepo: (call: Call<GetNamedRepoRequest>) => deps.store.read(() => findNamedRepo(deps, call)),

    ...uploadMethods(deps),
    ...blobMethods(deps),
    ...manifestMethods(deps),
  }),
})

/** Also accepts the anonymous token, which a client without credentials gets. */
function* admitAnyone({ demand }: Call): Work<Reply> {
  if (demand.caller.identity !== '') yield* admitToRead(demand)
  return emptyReply
}

function* admitPusher({ demand }: Call): Work<Reply> {
  yield* admitToRead(demand)
  return emptyReply
}

function* findNamedRepo(
  { settings }: Dependencies,
  { demand, request }: Call<GetNamedRepoRequest>,
): Work<Reply> {
  const { caller, now } = demand
  const isAnonymous = caller.identity === ''
  const grants = isAnonymous ? { caller, time: now(), list: [] } : yield* admitToRead(demand)
  const found = yield* findRepoFor(settings, grants, request.name)
  return messageReply(NamedRepoSchema, create(NamedRepoSchema, namedRepo(found)))
}

function namedRepo(found: FoundRepo): MessageInitShape<typeof NamedRepoSchema> {
  if (found.kind === 'repo') return { repo: found.uid }
  if (found.kind === 'missing') return { group: found.group, rest: found.rest }
  return found.kind === 'ambiguous' ? { namesakes: found.groups } : {}
}
