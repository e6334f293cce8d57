import { timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  CreateTagRequest,
  ListTagsRequest,
  UpdateTagRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagSchema, TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'
import { invalidField } from '../../../aip/errors.ts'
import { ruleText } from '../../../aip/string-rules.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { draftOf } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { readReply } from '../../reply.ts'
import { resourceIn } from '../../request-resource.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireMutableTag } from '../immutable-tags.ts'
import { createOrMove, recordMove, retryTagRace } from '../move-tag.ts'
import { readTagContent, setTagContent } from '../tag-content.ts'
import { noteEachUntagged, noteLossOfTag } from '../untagged.ts'
import { tags } from './table.ts'
import { tagTypes, typesWithin } from './tag-type.ts'

/** With `mayOmitDigest`, as in v1, `createTag` also creates tags that name no image yet. */
export function tagsMethods(deps: Dependencies, { mayOmitDigest = false } = {}) {
  const { store } = deps

  return {
    getTag: (call: Call) => getResource(store, tags, call),

    listTags: (call: Call<ListTagsRequest>) =>
      listResources(deps, tags, call, { filters: filtersOf(call.request) }),

    createTag: (call: Call<CreateTagRequest>) =>
      retryTagRace(() =>
        createOnce(deps, call, function* (access) {
          const draft = draftOf(TagSchema, resourceIn(tags, call))
          if (draft.digest === '' && !mayOmitDigest) throw missingDigest()
          const repo = call.demand.scope
          const { uid, movedFrom } = yield* createOrMove({ ...deps, access }, repo, draft)
          if (movedFrom !== '') yield noteEachUntagged(repo, [movedFrom], deps.now())
          return yield* readReply(tags, uid, call.form, access)
        }),
      ),

    updateTag: (call: Call<UpdateTagRequest>) =>
      updateResource(deps, tags, call, {
        // As in createOrMove: while a tag moves, no manifest of the repo is deleted.
        lockFirst: (uid) => sql`select uid from repos where uid = ${parentOf(uid)} /*pg for key share */`,
        *beforeUpdate({ current, merged, time }) {
          if (current.name !== merged.name) yield* requireMutableTag(merged.uid, 'renamed')
          if (merged.digest !== '')
            setTagContent(merged, yield* readTagContent(parentOf(merged.uid), merged.digest))
          if (current.digest === merged.digest) return {}
          if (merged.digest === '') throw missingDigest()
          if (current.digest !== '') yield* requireMutableTag(merged.uid, 'moved')
          yield noteLossOfTag(merged.uid, time)
          yield recordMove(merged.uid, time, merged.digest)
          return { push_time: time }
        },
        conflict: ({ name }) => `the repo has a tag named ${JSON.stringify(name)} already`,
      }),

    deleteTag: (call: Call) =>
      deleteResource(deps, tags, call, {
        *beforeDelete(uid) {
          yield* requireMutableTag(uid, 'deleted')
          yield noteLossOfTag(uid, deps.now())
        },
      }),
  }
}

export const tagsResource = defineResource({
  kind: tags,
  service: TagsService,
  methods: (deps) => tagsMethods(deps),
})

const missingDigest = () =>
  invalidField('digest', `is required and ${ruleText(rulesOf(TagSchema.field.digest))}`)

/** The column with the types of a tag, as bits (table.ts). */
const typesColumn = raw('sort')

/** A list that is filtered by name contains tags of every type. */
function filtersOf(request: ListTagsRequest): Sql[] {
  const { name, digest, updatedSince, includeReferrers, includeDates, includeEpochs } = request
  const types = typesWithin(
    (includeReferrers ? tagTypes.referrer : 0) |
      (includeDates ? tagTypes.date : 0) |
      (includeEpochs ? tagTypes.epoch : 0),
  )
  const includesAll = includeReferrers && includeDates && includeEpochs
  return [
    ...equalTo(raw('name'), name),
    ...equalTo(raw('digest'), digest),
    ...(updatedSince ? [sql`update_time > ${timestampMs(updatedSince)}`] : []),
    ...(name === '' && !includesAll ? [sql`${typesColumn} in ${among(types)}`] : []),
  ]
}
