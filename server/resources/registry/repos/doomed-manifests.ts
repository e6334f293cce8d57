// The manifests that retention would delete, without deleting them.
import type { Store } from '../../../store/db.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { UntaggedManifest } from './untagged-manifests.ts'
import { hasTag, readUntagged } from './untagged-manifests.ts'

export type DoomedManifest = UntaggedManifest & { reason: string }

export const maxDoomed = 10_000
const digestsPerRead = 100

/** At most `maxDoomed`. With an index, its manifests are deleted; with a subject, its referrers. */
export async function doomedManifests(store: Store, repo: string, cutoff: number): Promise<DoomedManifest[]> {
  const doomed = new Map<string, DoomedManifest>()
  const add = (manifests: readonly DoomedManifest[]) => {
    const added = manifests.filter(({ digest }) => !doomed.has(digest)).slice(0, maxDoomed - doomed.size)
    for (const manifest of added) doomed.set(manifest.digest, manifest)
    return added
  }
  let last: UntaggedManifest | undefined
  do {
    const page = await store.read(() => readUntagged(repo, cutoff, last))
    const untagged = add(page.manifests.map((manifest) => ({ ...manifest, reason: 'no tag' })))
    for (let next = untagged.map(({ digest }) => digest); next.length > 0; ) {
      const part = next.splice(0, digestsPerRead)
      const dependents = await store.read(() => readDependents(repo, part, cutoff))
      const lost = dependents.filter(({ users }) => users.every((digest) => doomed.has(digest)))
      next = [...next, ...add(lost).map(({ digest }) => digest)]
    }
    last = page.last
  } while (last && doomed.size < maxDoomed)
  return [...doomed.values()]
}

type Dependent = DoomedManifest & {
  /** The indexes that contain the manifest, and its subject. If all of them are deleted, so is the manifest. */
  users: string[]
}

/** Manifests without tags that are part of one of these, or refer to one of these. */
function* readDependents(repo: string, digests: readonly string[], cutoff: number): Work<Dependent[]> {
  const candidates = sql`(select r.digest from manifest_references r
      where r.repo = ${repo} and r.manifest in ${among(digests)} and r.kind = 'manifest'
    union select s.digest from manifests s where s.repo = ${repo} and s.subject in ${among(digests)})`
  const rows = yield sql`select m.digest, m.untagged_since, s.digest
    from manifests m left join manifests s on s.repo = m.repo and s.digest = m.subject
    where m.repo = ${repo} and m.digest in ${candidates} and not ${hasTag} order by m.digest`
  const dependents = new Map<string, Dependent>()
  for (const [digest, untaggedSince, subject] of rows as [string, number, string | null][]) {
    const isReferrer = subject !== null && digests.includes(subject)
    // A referrer goes with its subject, whatever its age.
    if (!isReferrer && untaggedSince > cutoff) continue
    const reason = isReferrer ? 'refers to a deleted manifest' : 'part of a deleted index'
    dependents.set(digest, { digest, untaggedSince, reason, users: subject === null ? [] : [subject] })
  }
  const indexes = yield sql`select r.digest, r.manifest from manifest_references r
    where r.repo = ${repo} and r.digest in ${candidates} and r.kind = 'manifest'`
  for (const [digest, index] of indexes as [string, string][]) dependents.get(digest)?.users.push(index)
  return [...dependents.values()]
}
