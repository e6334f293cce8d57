// Tags: names for the images of a repo, which may be moved from one image to another.
import type { MessageShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  CreateTagRequest,
  ListTagsRequest,
  UpdateTagRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagSchema, TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { aborted } from '../../../aip/errors.ts'
import { newChildUid } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { createIn, draftOf } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { readReply } from '../../reply.ts'
import { resourceIn } from '../../request-resource.ts'
import { defineResource } from '../../resource.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { updateResource } from '../../update.ts'
import { sorts, sortsWithin } from './sort.ts'
import { tags } from './table.ts'

type Tag = MessageShape<typeof TagSchema>

function tagsMethods(deps: Dependencies) {
  const { store, now, random } = deps

  /** Nobody moves a tag past another who does so at the same time. */
  function* put(access: WriteAccess, repo: string, draft: Tag): Work<string> {
    const known = yield* first(sql`select uid from tags where parent = ${repo} and name = ${draft.name}`)
    if (known) return yield* move(access, known[0] as string, draft)
    const time = now()
    const uid = newChildUid(repo, time, random)
    yield* createIn(
      access,
      repo,
      tags,
      draft,
      { uid, now: time },
      'another has just created this tag; try again',
    )
    yield noteMove(uid, time, draft.digest)
    return uid
  }

  function* move(access: WriteAccess, uid: string, draft: Tag): Work<string> {
    const stored = yield* lockResource(tags, uid)
    if (!stored) throw aborted('the tag was deleted meanwhile; try again')
    const { createTime, digest, deprecated, bundles } = stored.resource
    const isSame =
      digest === draft.digest && deprecated === draft.deprecated && bundles.join() === draft.bundles.join()
    if (isSame) return uid
    const updateTime = nextUpdateTime(now(), stored.updateTime)
    const moved = create(TagSchema, { ...draft, uid, updateTime: timestampFromMs(updateTime) })
    if (createTime) moved.createTime = createTime
    yield* replaceResource(access, tags, moved, { uid, updateTime })
    if (digest !== draft.digest) yield noteMove(uid, updateTime, draft.digest)
    return uid
  }

  return {
    getTag: (call: Call) => getResource(store, tags, call),

    listTags: (call: Call<ListTagsRequest>) =>
      listResources(deps, tags, call, { filters: filtersOf(call.request) }),

    createTag: (call: Call<CreateTagRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const uid = yield* put(access, call.demand.scope, draftOf(TagSchema, resourceIn(tags, call)))
        return yield* readReply(tags, uid, call.form)
      }, call.deadline),

    updateTag: (call: Call<UpdateTagRequest>) =>
      updateResource(deps, tags, call, {
        *beforeUpdate({ current, merged, time }) {
          if (current.digest !== merged.digest) yield noteMove(merged.uid, time, merged.digest)
        },
        conflict: ({ name }) => `the repo has a tag named ${JSON.stringify(name)} already`,
      }),

    deleteTag: (call: Call) => deleteResource(deps, tags, call),
  }
}

export const tagsResource = defineResource({
  kind: tags,
  service: TagsService,
  methods: tagsMethods,
})

const noteMove = (tag: string, time: number, digest: string): Sql =>
  sql`insert into tag_history (tag, update_time, digest) values (${tag}, ${time}, ${digest})`

/** A tag that is named is shown, whatever sort it is of. */
function filtersOf(request: ListTagsRequest): Sql[] {
  const { name, digest, updatedSince, includeReferrers, includeDates, includeEpochs } = request
  const shown = sortsWithin(
    (includeReferrers ? sorts.referrer : 0) |
      (includeDates ? sorts.date : 0) |
      (includeEpochs ? sorts.epoch : 0),
  )
  const isAll = includeReferrers && includeDates && includeEpochs
  return [
    ...equalTo(raw('name'), name),
    ...equalTo(raw('digest'), digest),
    ...(updatedSince ? [sql`update_time > ${timestampMs(updatedSince)}`] : []),
    ...(name === '' && !isAll ? [sql`sort in ${among(shown)}`] : []),
  ]
}
