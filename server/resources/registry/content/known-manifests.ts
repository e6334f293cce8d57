// The content of manifests that were pulled lately. The content of a digest never changes, so a pull need not read it
// again; each pull still reads the row, which says whether the repo has the manifest and to which digest a tag points.
import { BoundedMap } from '../../../bounded-map.ts'

export type KnownManifest = { digest: string; content: Uint8Array }

export type KnownManifests = {
  /** The manifest that a reference of a repo had when it was last pulled. */
  of(repo: string, reference: string): KnownManifest | undefined
  remember(repo: string, reference: string, manifest: KnownManifest): void
}

/** Together at most 8 MiB in each thread. Most manifests have less than 2 KiB. */
const maxManifests = 1024
const maxBytes = 8192

export function openKnownManifests(): KnownManifests {
  const known = new BoundedMap<string, KnownManifest>(maxManifests)
  return {
    of: (repo, reference) => known.get(`${repo} ${reference}`),
    remember(repo, reference, { digest, content }) {
      if (content.length > maxBytes) return
      // A copy: the row of PostgreSQL is a part of a larger buffer, which would stay in memory.
      known.set(`${repo} ${reference}`, { digest, content: new Uint8Array(content) })
    },
  }
}
