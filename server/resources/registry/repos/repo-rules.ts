// Who may set the rules of a repo: public, immutable tags and retention. Roles for pushing contain `repo.update`, so
// these rules need other capabilities: they protect a repo from those who push to it.
import { equals } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Repo } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { RetentionSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { permissionDenied } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'

/** Everybody can pull from a public repo. Nobody can give access that they do not have. */
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
 * `requireNameAccess` looks for repos in at most this many groups with the same name. If there are more, the caller
 * must be allowed to lift immutability at the new repo itself.
 */
const maxNamesakes = 100

/**
 * Throws if registry clients would find this repo in place of one with immutable tags, and the
 * caller may not lift the immutability of that one. For registry clients, a repo `tools/static` has
 * the same name as a repo `static` in a group `tools` beside it, and is found first
 * (find-repo.ts).
 */
export function* requireNameAccess(grants: Grants, uid: string, name: string): Work<void> {
  const parts = name.split('/')
  let groups = [parentOf(uid)]
  for (let depth = 1; depth < parts.length && groups.length > 0; depth++) {
    const rest = parts.slice(depth).join('/')
    const rows = yield sql`select g.uid, r.uid from groups g
      left join repos r on r.parent = g.uid and r.name = ${rest} and r.immutable_tags <> ''
      where g.parent in ${among(groups)} and g.name = ${parts[depth - 1] ?? ''} limit ${maxNamesakes + 1}`
    const hidden =
      rows.length > maxNamesakes ? [uid] : rows.flatMap(([, repo]) => (repo as string | null) ?? [])
    // The error does not name the other repo, which the caller may not be allowed to see.
    if (hidden.some((repo) => !holds(grants, toLiftImmutability, repo)))
      throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_UPDATE), uid)
    groups = rows.map(([group]) => group as string)
  }
}

/** A rename counts too: a new repo with the old name could have other images for the same tags. */
const liftsImmutability = (current: Repo, merged: Repo) =>
  current.immutableTags.length > 0 &&
  (current.name !== merged.name ||
    current.immutableTags.some((pattern) => !merged.immutableTags.includes(pattern)))

export const isSameRetention = ({ retention }: Repo, current: Repo | undefined): boolean =>
  retention && current?.retention
    ? equals(RetentionSchema, retention, current.retention)
    : retention === current?.retention

/** Gives people time to correct rules that they have just set. */
const firstRunDelayMs = 3_600_000

/** When new rules are applied for the first time. */
export const retentionTimeOf = ({ retention }: Repo, now: number): number =>
  retention ? now + firstRunDelayMs : 0

function require(grants: Grants, capabilities: readonly Capability[], uid: string): void {
  const missing = capabilities.find((capability) => !holds(grants, [capability], uid))
  if (missing !== undefined) throw permissionDenied(nameOf(missing), uid)
}
