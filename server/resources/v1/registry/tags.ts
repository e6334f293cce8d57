// Tags as v1 has them.
import type {
  CreateTagRequest,
  DeleteTagRequest,
  Tag as OldTag,
  TagFilter,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagSchema as OldTagSchema, TagListSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Ask } from '../ask.ts'
import { converted, deleted, inNames } from '../convert.ts'
import { listEvery } from '../every.ts'
import { namesOfPlace, placeOf } from '../place.ts'
import { oldTagOf, tagOf } from './conversion.ts'

const v2 = TagsService.method

export const tagsOfV1 = (ask: Ask) => ({
  createTag(call: Call<CreateTagRequest>) {
    const { repoId, tag } = call.request
    const asked = ask(call, v2.createTag, { parent: repoId, ...(tag && { tag: tagOf(tag) }) })
    return converted(inNames([[/^parent$/, 'repo_id']], asked), OldTagSchema, oldTagOf)
  },

  updateTag(call: Call<OldTag>) {
    const tag = { uid: call.request.id, ...tagOf(call.request) }
    const asked = ask(call, v2.updateTag, { tag, updateMask: { paths: ['*'] } })
    return converted(inNames([[/^uid$/, 'id']], asked), OldTagSchema, oldTagOf)
  },

  deleteTag: (call: Call<DeleteTagRequest>) =>
    deleted(inNames([[/^uid$/, 'id']], ask(call, v2.deleteTag, { uid: call.request.id }))),

  listTags(call: Call<TagFilter>) {
    const { id, uidp, name, digest, updatedSince } = call.request
    const { excludeReferrers, excludeDates, excludeEpochs } = call.request
    const listing = listEvery(ask, call, {
      method: v2.listTags,
      request: {
        ...{ uidp: placeOf(uidp, { id }), name, digest },
        ...(updatedSince && { updatedSince }),
        includeReferrers: !excludeReferrers,
        includeDates: !excludeDates,
        includeEpochs: !excludeEpochs,
      },
      list: TagListSchema,
      items: ({ tags }) => tags.map(oldTagOf),
    })
    return inNames(namesOfPlace(id && 'id'), listing)
  },
})
