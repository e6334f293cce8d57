// Shows what retention would do to a repo, without doing it.
import { create } from '@bufbuild/protobuf'
import { durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { PreviewRetentionRequest, Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import {
  PreviewRetentionResponseSchema,
  RepoSchema,
  RetentionAction,
  RetentionDecisionSchema,
  RetentionSchema,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Work } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { readResource } from '../../stored-resource.ts'
import type { DoomedManifest } from './doomed-manifests.ts'
import { doomedManifests } from './doomed-manifests.ts'
import type { JudgedTag } from './judged-tags.ts'
import { judgedTags } from './judged-tags.ts'
import { pauseWithDeadline } from './pause.ts'
import { requireValidRetention } from './require-valid-retention.ts'
import { openTagRules } from './retention-rules.ts'
import { repos } from './table.ts'

/** How many decisions of each sort the response contains. */
const maxShown = 1000

/** `deadlineClock` is the clock of `call.deadline`: real time, even if a test sets `now`. */
export const retentionMethods = ({ store, now }: Dependencies, deadlineClock = Date.now) => ({
  async previewRetention(call: Call<PreviewRetentionRequest>) {
    const repo = await store.read(() => readRepo(call))
    const retention = call.request.retention ?? repo.retention ?? create(RetentionSchema)
    const { rules, deleteUntaggedAfter } = retention
    requireValidRetention(retention)
    const time = now()
    const pause = pauseWithDeadline(call.deadline, deadlineClock)
    const judge = openTagRules({ rules, immutableTags: repo.immutableTags }, time)
    const counts = { deletedTags: 0, keptTags: 0 }
    const [deleted, kept]: [JudgedTag[], JudgedTag[]] = [[], []]
    for await (const page of judgedTags(store, repo.uid, judge, pause))
      for (const tag of page) {
        const shown = tag.isKept ? kept : deleted
        if (shown.length < maxShown) shown.push(tag)
        counts[tag.isKept ? 'keptTags' : 'deletedTags']++
      }
    const cutoff = deleteUntaggedAfter && time - durationMs(deleteUntaggedAfter)
    const manifests = cutoff === undefined ? [] : await doomedManifests(store, repo.uid, cutoff, pause)
    const shownManifests = manifests.slice(0, maxShown).map(manifestDecision)
    return messageReply(
      PreviewRetentionResponseSchema,
      create(PreviewRetentionResponseSchema, {
        ...{ ...counts, deletedManifests: manifests.length },
        decisions: [...deleted.map(tagDecision), ...shownManifests, ...kept.map(tagDecision)],
      }),
    )
  },
})

function* readRepo({ demand }: Call): Work<Repo> {
  yield* admitToRead(demand)
  const repo = yield* readResource(repos, demand.scope)
  if (!repo) throw notFound(RepoSchema.typeName, demand.scope)
  return repo
}

const tagDecision = ({ name, digest, reason, pushTime, isKept }: JudgedTag) =>
  create(RetentionDecisionSchema, {
    ...{ tag: name, digest, reason, time: timestampFromMs(pushTime) },
    action: isKept ? RetentionAction.KEEP : RetentionAction.DELETE,
  })

const manifestDecision = ({ digest, reason, untaggedSince }: DoomedManifest) =>
  create(RetentionDecisionSchema, {
    ...{ digest, reason, time: timestampFromMs(untaggedSince), action: RetentionAction.DELETE },
  })
