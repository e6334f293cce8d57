// Deployments of repos, which v2 does not have.
import { create, equals } from '@bufbuild/protobuf'
import type {
  CreateDeploymentRequest,
  Deployment,
  UpdateDeploymentRequest,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { DeploymentSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { alreadyExists, notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch, requireNoIfMatch } from '../../../aip/etag.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { StoreError } from '../../../store/store-error.ts'
import { readForUpdate } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createOnce } from '../../create-once.ts'
import { insertDeployment, readDeployment, replaceDeployment } from '../../registry/deployments/table.ts'
import { repos } from '../../registry/repos/table.ts'
import { nextUpdateTime } from '../../stored-resource.ts'
import type { V1Dependencies } from '../dependencies.ts'

export function deploymentMethods(deps: V1Dependencies) {
  const { store, now } = deps
  return {
    getDeployment: ({ demand }: Call) =>
      store.read(function* () {
        yield* admitToRead(demand)
        const { deployment, updateTime } = yield* requireDeployment(demand.scope)
        return replyOf(deployment, updateTime)
      }),

    createDeployment: (call: Call<CreateDeploymentRequest>) =>
      createOnce(deps, call, function* (access) {
        const { parentId, charts } = call.request
        const deployment = create(DeploymentSchema, { id: parentId, charts })
        const time = now()
        yield* insertNewDeployment(access, deployment, time)
        return replyOf(deployment, time)
      }),

    updateDeployment: (call: Call<UpdateDeploymentRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repoId, charts } = call.request
        yield* readForUpdate(repos.table, repoId) // locks the repo, so that updates run one after the other
        const { deployment: current, updateTime } = yield* requireDeployment(repoId)
        if (updateTime === undefined) requireNoIfMatch(call.ifMatch)
        else requireMatch(call.ifMatch, updateTime)
        const deployment = create(DeploymentSchema, { id: repoId, charts })
        if (equals(DeploymentSchema, current, deployment)) return replyOf(current, updateTime)
        const time = nextUpdateTime(now(), updateTime ?? 0)
        yield* replaceDeployment(access, deployment, time)
        return replyOf(deployment, charts.length > 0 ? time : undefined)
      }, call.deadline),
  }
}

function* requireDeployment(repo: string) {
  const stored = yield* readDeployment(repo)
  if (!stored) throw notFound(RepoSchema.typeName, repo)
  return stored
}

function* insertNewDeployment(access: WriteAccess, deployment: Deployment, time: number): Work<void> {
  try {
    yield* insertDeployment(access, deployment, time)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    if (error.kind === 'foreign-key') throw notFound(RepoSchema.typeName, deployment.id)
    if (error.kind === 'unique') throw alreadyExists('the repo has a deployment already; update it instead')
    throw error
  }
}

const replyOf = (deployment: Deployment, updateTime: number | undefined): Reply => ({
  ...messageReply(DeploymentSchema, deployment),
  ...(updateTime !== undefined && { etag: etagOf(updateTime) }),
})
