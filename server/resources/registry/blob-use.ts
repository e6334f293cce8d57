// Whether a repo uses a blob that it has.
import { raw } from '../../store/sql.ts'

/**
 * The registry reports a blob as missing if its repo last used it at this time or earlier. So a blob is reported as
 * missing an hour (or half of the grace period, if that is shorter) before a collection may remove it, and a client
 * that is told that the repo has a blob has at least that long to push the manifest.
 */
export const lastUseCutoff = (now: number, graceMs: number): number =>
  now - graceMs + Math.min(3_600_000, graceMs / 2)

/** SQL: whether a manifest of the repo refers to the blob of a row of `repo_blobs`. */
export const hasManifest = raw(`exists (select 1 from manifest_references m
  where m.repo = repo_blobs.repo and m.digest = repo_blobs.digest)`)
