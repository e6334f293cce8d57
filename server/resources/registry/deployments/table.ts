// The deployment of a repo. If none is stored, it is read as a deployment without charts.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Deployment } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { DeploymentSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { EventDetails } from '../../../store/events/record.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { writeJson } from '../../../wire/json-writer.ts'

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

/** The foreign key fails if the repo does not exist; the primary key, if it has a deployment. */
export function* insertDeployment(
  access: WriteAccess,
  deployment: Deployment,
  updateTime: number,
): Work<void> {
  yield insertRow(deployment, updateTime)
  yield* record(access, deployment, 'created')
}

const insertRow = (deployment: Deployment, updateTime: number) =>
  sql`insert into repo_deployments (repo, update_time, proto)
    values (${deployment.id}, ${updateTime}, ${toBinary(DeploymentSchema, deployment)})`

const record = (access: WriteAccess, deployment: Deployment, action: string): Work<void> =>
  recordEvent(access, {
    ...{ group: parentOf(deployment.id), kind: 'repo_deployments', uid: deployment.id, action },
    details: JSON.parse(writeJson(DeploymentSchema, deployment)) as EventDetails,
  })

/** Replaces the deployment, or deletes it if the new one has no charts. */
export function* replaceDeployment(
  access: WriteAccess,
  deployment: Deployment,
  updateTime: number,
): Work<void> {
  yield sql`delete from repo_deployments where repo = ${deployment.id}`
  if (deployment.charts.length > 0) yield insertRow(deployment, updateTime)
  yield* record(access, deployment, 'updated')
}
