// Tags as v1 has them.
import { create } from '@bufbuild/protobuf'
import type {
  CreateTagRequest,
  DeleteTagRequest,
  Tag as OldTag,
  TagFilter,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagSchema as OldTagSchema, TagListSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { isUid } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { listEvery } from '../all-pages.ts'
import type { Ask } from '../call-v2.ts'
import { converted, deleted, inNames } from '../convert.ts'
import { namesOfPlace, placeOf } from '../place.ts'
import { oldTagOf, tagOf } from './conversion.ts'

const v2 = TagsService.method

export const tagsOfV1 = (ask: Ask) => ({
  async createTag(call: Call<CreateTagRequest>) {
    const { repoId, tag = create(OldTagSchema) } = call.request
    const known = tag.digest === '' ? await find(ask, call, tag.name) : undefined
    if (known) return replaceTag(ask, call, known.uid, tag)
    const asked = ask(call, v2.createTag, { parent: repoId, tag: tagOf(tag) })
    return converted(inNames([[/^parent$/, 'repo_id']], asked), OldTagSchema, oldTagOf)
  },

  updateTag: (call: Call<OldTag>) => replaceTag(ask, call, call.request.id, call.request),

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

/** The tag of that name, if the caller sees one. */
async function find(ask: Ask, call: Call<CreateTagRequest>, name: string): Promise<Tag | undefined> {
  const { repoId } = call.request
  if (!isUid(repoId) || name === '') return undefined
  return (await ask(call, v2.listTags, { uidp: { childrenOf: repoId }, name, pageSize: 1 })).message.tags[0]
}

/** A tag always names an image, so without one it goes on naming that which it did: published clients send none. */
function replaceTag(ask: Ask, call: Call, uid: string, old: OldTag): Promise<Reply> {
  const paths = ['name', 'deprecated', 'bundles', ...(old.digest === '' ? [] : ['digest'])]
  const asked = ask(call, v2.updateTag, { tag: { uid, ...tagOf(old) }, updateMask: { paths } })
  return converted(inNames([[/^uid$/, 'id']], asked), OldTagSchema, oldTagOf)
}
