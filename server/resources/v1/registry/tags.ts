import { create } from '@bufbuild/protobuf'
import type {
  CreateTagRequest,
  DeleteTagRequest,
  TagFilter,
  Tag as V1Tag,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagListSchema, TagSchema as V1TagSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { listAllPages } from '../all-pages.ts'
import type { CallV2 } from '../call-v2.ts'
import { convertReply, deleteReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../uidp-filter.ts'
import { tagFromV1, tagToV1 } from './conversion.ts'

const v2 = TagsService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'repo_id'],
]

export function tagMethods(deps: V1Dependencies) {
  const { callV2, callV2WithOptionalDigest } = deps
  return {
    createTag(call: Call<CreateTagRequest>) {
      const { repoId, tag = create(V1TagSchema) } = call.request
      const reply = callV2WithOptionalDigest(call, v2.createTag, { parent: repoId, tag: tagFromV1(tag) })
      return convertReply(renameErrorFields(renames, reply), V1TagSchema, tagToV1)
    },

    updateTag: (call: Call<V1Tag>) => replaceTag(callV2, call, call.request.id, call.request),

    deleteTag(call: Call<DeleteTagRequest>) {
      const reply = callV2(call, v2.deleteTag, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },

    listTags(call: Call<TagFilter>) {
      const { id, uidp, name, digest, updatedSince } = call.request
      const { excludeReferrers, excludeDates, excludeEpochs } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listTags,
        request: {
          ...{ uidp: uidpFilter(uidp, { id }), name, digest },
          ...(updatedSince && { updatedSince }),
          includeReferrers: !excludeReferrers,
          includeDates: !excludeDates,
          includeEpochs: !excludeEpochs,
        },
        list: TagListSchema,
        items: ({ tags }) => tags.map(tagToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },
  }
}

/** Published clients send updates without a digest. The tag then keeps its digest, which cannot be removed. */
function replaceTag(callV2: CallV2, call: Call, uid: string, tag: V1Tag): Promise<Reply> {
  const paths = ['name', 'deprecated', 'bundles', ...(tag.digest === '' ? [] : ['digest'])]
  const reply = callV2(call, v2.updateTag, { tag: { uid, ...tagFromV1(tag) }, updateMask: { paths } })
  return convertReply(renameErrorFields(renames, reply), V1TagSchema, tagToV1)
}
