// Reads and writes the readme of a repo, which is stored in a column of its own and is not part of the resource.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { UpdateRepoReadmeRequest } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { RepoReadmeSchema, RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch } from '../../../aip/etag.ts'
import { violationsOf } from '../../../aip/validate.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { repos } from './table.ts'

export const readmeMethods = (deps: Dependencies) => ({
  getRepoReadme: ({ demand }: Call) =>
    deps.store.read(function* () {
      yield* admitToRead(demand)
      const uid = demand.scope
      const row = yield* first(sql`select readme, update_time from repos where uid = ${uid}`)
      if (!row) throw notFound(RepoSchema.typeName, uid)
      const [content, updateTime] = row as [string, number] // as selected
      return readmeReply(uid, content, updateTime)
    }),

  async updateRepoReadme(call: Call<UpdateRepoReadmeRequest>) {
    const content = call.request.repoReadme?.content ?? ''
    await requireSafeReadme(deps, call.demand, content)
    return deps.store.write(() => writeReadme(deps, call, content), call.deadline)
  },
})

function* writeReadme({ now }: Dependencies, { demand, ifMatch }: Call, readme: string): Work<Reply> {
  const access = yield* admitToWrite(demand)
  const uid = demand.scope
  const stored = yield* lockResource(repos, uid)
  if (!stored) throw notFound(RepoSchema.typeName, uid)
  requireMatch(ifMatch, stored.updateTime)
  if (stored.columns.readme === readme) return readmeReply(uid, readme, stored.updateTime)
  const updateTime = nextUpdateTime(now(), stored.updateTime)
  const repo = { ...stored.resource, updateTime: timestampFromMs(updateTime) }
  yield* replaceResource(access, repos, repo, { uid, updateTime, columns: { readme } })
  return readmeReply(uid, readme, updateTime)
}

/** Rendering a readme is expensive, so the caller is authorized first. */
export async function requireSafeReadme(
  { store, checks }: Dependencies,
  demand: Demand,
  content = '',
): Promise<void> {
  if (content === '') return
  await store.read(() => admitToRead(demand))
  const [violation] = violationsOf(RepoReadmeSchema, create(RepoReadmeSchema, { content }))
  const fault = violation?.description ?? (await checks.readmeFault(content, demand.caller.identity))
  if (fault !== undefined) throw invalidField('content', fault)
}

const readmeReply = (uid: string, content: string, updateTime: number): Reply => ({
  ...messageReply(RepoReadmeSchema, create(RepoReadmeSchema, { uid, content })),
  etag: etagOf(updateTime),
})
