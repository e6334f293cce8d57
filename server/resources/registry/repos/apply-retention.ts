// Applies the retention rules of a repo, in small transactions. Several copies of the server may do
// so at once: each transaction checks again what it may delete.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { durationMs } from '@bufbuild/protobuf/wkt'
import type { Store } from '../../../store/db.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import type { RetentionRun } from './delete-unkept-tags.ts'
import { deleteTags } from './delete-unkept-tags.ts'
import { judgedTags } from './judged-tags.ts'
import type { RepoRules } from './read-retention.ts'
import { readRules } from './read-retention.ts'
import { openTagRules } from './retention-rules.ts'
import type { UntaggedManifest } from './untagged-manifests.ts'
import { deleteUntagged, readUntagged } from './untagged-manifests.ts'

export type RetentionDependencies = {
  store: Store
  access: WriteAccess
  now(): number
  /** Stops after the current transaction. */
  signal?: AbortSignal
  /**
   * Called after each transaction that has deleted something, with the names of the deleted tags or
   * the digests of the deleted manifests.
   */
  onDeleted?(repo: string, deleted: Partial<Record<keyof Deletions, string[]>>): void
}

/** How many were deleted. */
export type Deletions = { tags: number; manifests: number }

const tagsPerWrite = 100

export async function applyRetention(deps: RetentionDependencies, repo: string): Promise<Deletions> {
  const deletions: Deletions = { tags: 0, manifests: 0 }
  const rules = await deps.store.read(() => readRules(repo))
  if (!rules) return deletions
  const run = { repo, retention: rules.retention, now: deps.now() }
  if (await removeTags(deps, run, rules, deletions)) await removeManifests(deps, run, deletions)
  return deletions
}

/** Returns false if the rules have changed, or `signal` was aborted. */
async function removeTags(
  { store, access, signal, onDeleted }: RetentionDependencies,
  run: RetentionRun,
  { retention: { rules }, immutableTags }: RepoRules,
  deletions: Deletions,
): Promise<boolean> {
  if (rules.length === 0) return true
  const judge = openTagRules({ rules, immutableTags }, run.now)
  for await (const page of judgedTags(store, run.repo, judge, nextTurn)) {
    if (signal?.aborted) return false
    const doomed = page.filter(({ isKept }) => !isKept)
    for (let at = 0; at < doomed.length; at += tagsPerWrite) {
      if (signal?.aborted) return false
      const part = doomed.slice(at, at + tagsPerWrite)
      const deleted = await store.write(() => deleteTags(access, run, part))
      if (!deleted) return false
      deletions.tags += deleted.length
      if (deleted.length > 0) onDeleted?.(run.repo, { tags: deleted })
    }
  }
  return true
}

/** The manifests of a deleted index are found in the next pass. Each pass but the last deletes something. */
async function removeManifests(
  { store, access, signal, onDeleted }: RetentionDependencies,
  run: RetentionRun,
  deletions: Deletions,
): Promise<void> {
  const { repo, retention, now } = run
  if (!retention.deleteUntaggedAfter) return
  const cutoff = now - durationMs(retention.deleteUntaggedAfter)
  for (let countBefore = -1; countBefore < deletions.manifests; ) {
    countBefore = deletions.manifests
    let last: UntaggedManifest | undefined
    do {
      if (signal?.aborted) return
      const page = await store.read(() => readUntagged(repo, cutoff, last))
      await nextTurn()
      for (let rest = page.manifests; rest.length > 0; ) {
        if (signal?.aborted) return
        const deleted = await store.write(() => deleteUntagged(access, run, cutoff, rest))
        if (!deleted) return
        deletions.manifests += deleted.length
        if (deleted.length > 0) onDeleted?.(repo, { manifests: deleted })
        rest = deleted.length === 0 ? [] : rest.filter(({ digest }) => !deleted.includes(digest))
      }
      last = page.last
    } while (last)
  }
}
