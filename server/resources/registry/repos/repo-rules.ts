// Who may set the rules of a repo: public, immutable tags and retention. Roles for pushing contain `repo.update`, so
// these rules need other capabilities: they protect a repo from those who push to it.
import { equals } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { RetentionSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { permissionDenied } from '../../../aip/errors.ts'
import { lineage, parentOf } from '../../../aip/uid.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { among, join, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'

/** A public repo gives everybody the access of a pull. Nobody can give what they do not have. */
const toPublish = [
  Capability.CAP_IAM_ROLE_BINDINGS_CREATE,
  Capability.CAP_MANIFEST_LIST,
  Capability.CAP_TAG_LIST,
  Capability.CAP_REPO_BLOBS_GET,
  Capability.CAP_REFERRERS_LIST,
]
/** `registry.push` does not contain it: a caller who pushes cannot make the tags mutable first. */
const toLiftImmutability = [Capability.CAP_IAM_GROUPS_UPDATE]
/** The server deletes on behalf of those who set the rules. */
const toDelete = [Capability.CAP_TAG_DELETE, Capability.CAP_MANIFEST_DELETE]

/** Throws if the caller may not change the rules of the repo in this way. `current` is undefined for a new repo. */
export function requireRuleAccess(grants: Grants, uid: string, merged: Repo, current?: Repo): void {
  if (merged.public && !current?.public) require(grants, toPublish, uid)
  if (current && liftsImmutability(current, merged)) require(grants, toLiftImmutability, uid)
  if (merged.retention && !isSameRetention(merged, current)) require(grants, toDelete, uid)
}

/**
 * Throws if the caller may not lift immutability, and registry clients would find this repo in place of one with
 * immutable tags: for them, the repo `static` in the group `tools` has the same name as a repo `tools/static` in the
 * group above, and is found first (content/find-repo.ts).
 */
export function* requireNameAccess(grants: Grants, uid: string, name: string): Work<void> {
  const groups = lineage(parentOf(uid))
  if (groups.length < 2) return
  const rows = yield sql`select uid, name from groups where uid in ${among(groups)}`
  const nameOfGroup = new Map(rows as [string, string][])
  let rest = name
  const conditions = groups.toReversed().flatMap((group) => {
    rest = `${nameOfGroup.get(group)}/${rest}`
    const above = parentOf(group)
    return above === '' ? [] : sql`(parent = ${above} and name = ${rest})`
  })
  const hidden = yield* first(
    sql`select uid from repos where (${join(conditions, ' or ')}) and immutable_tags <> ''`,
  )
  if (hidden && !holds(grants, toLiftImmutability, hidden[0] as string))
    // The error does not name the other repo, which the caller may not be allowed to see.
    throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_UPDATE), uid)
}

/** A repo with another name, in place of the renamed one, could have other images for the same tags. */
const liftsImmutability = (current: Repo, merged: Repo) =>
  current.immutableTags.length > 0 &&
  (current.name !== merged.name ||
    current.immutableTags.some((pattern) => !merged.immutableTags.includes(pattern)))

export const isSameRetention = ({ retention }: Repo, current: Repo | undefined): boolean =>
  retention && current?.retention
    ? equals(RetentionSchema, retention, current.retention)
    : retention === current?.retention

/** Gives people the time to correct rules that they have just set, in milliseconds. */
const firstRunDelayMs = 3_600_000

/** When new rules are applied for the first time. */
export const retentionTimeOf = ({ retention }: Repo, now: number): number =>
  retention ? now + firstRunDelayMs : 0

function require(grants: Grants, capabilities: readonly Capability[], uid: string): void {
  const missing = capabilities.find((capability) => !holds(grants, [capability], uid))
  if (missing !== undefined) throw permissionDenied(nameOf(missing), uid)
}
