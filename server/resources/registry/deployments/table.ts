// The deployment of a repo. A repo without a stored deployment has one without charts.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Deployment } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { DeploymentSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'

/** `updateTime` is undefined if no deployment is stored. */
export type StoredDeployment = { deployment: Deployment; updateTime: number | undefined }

/** Undefined if the repo does not exist. */
export function* readDeployment(repo: string): Work<StoredDeployment | undefined> {
  const row = yield* first(sql`select d.proto, d.update_time
    from repos r left join repo_deployments d on d.repo = r.uid where r.uid = ${repo}`)
  if (!row) return undefined
  const [proto, updateTime] = row as [Uint8Array, number] | [null, null] // as selected
  if (proto === null) return { deployment: create(DeploymentSchema, { id: repo }), updateTime: undefined }
  return { deployment: fromBinary(DeploymentSchema, proto), updateTime }
}

/** A foreign key refuses a deployment of a repo that does not exist, a unique index a second one of the same repo. */
export function* insertDeployment(
  _access: WriteAccess,
  deployment: Deployment,
  updateTime: number,
): Work<void> {
  yield sql`insert into repo_deployments (repo, update_time, proto)
    values (${deployment.id}, ${updateTime}, ${toBinary(DeploymentSchema, deployment)})`
}

/** Replaces the deployment; without charts, deletes it. */
export function* replaceDeployment(
  access: WriteAccess,
  deployment: Deployment,
  updateTime: number,
): Work<void> {
  yield sql`delete from repo_deployments where repo = ${deployment.id}`
  if (deployment.charts.length > 0) yield* insertDeployment(access, deployment, updateTime)
}
