// The size of everything that a manifest consists of.
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'

/** The parts of a manifest that the repo has, by digest. `size` is that of the part alone. */
export type Parts = ReadonlyMap<string, Part>
export type Part = { kind: 'blob' | 'manifest'; size: number; platforms: readonly string[] }

/** Bounds the transaction: a hostile index could have millions of parts, and could be nested deeply. */
const maxParts = 20_000
const maxDepth = 8

/** Stored in place of a size that is not known. */
export const unknownSize = -1

/** The sum of the manifest and its distinct parts. The manifests of an index, and their parts, count as well. */
export function* totalSizeOf(repo: string, size: number, parts: Parts): Work<number> {
  const sizes = new Map([...parts].map(([digest, part]) => [digest, part.size]))
  let manifests = [...parts].flatMap(([digest, { kind }]) => (kind === 'manifest' ? digest : []))
  for (let [depth, read] = [0, parts.size]; manifests.length > 0; depth++) {
    if (depth === maxDepth) return unknownSize
    const rows = yield sql`select f.digest, f.kind, coalesce(b.size, m.size, 0) from manifest_references f
      left join blobs b on f.kind = 'blob' and b.digest = f.digest
      left join manifests m on f.kind = 'manifest' and m.repo = f.repo and m.digest = f.digest
      where f.repo = ${repo} and f.manifest in ${among(manifests)} limit ${maxParts - read + 1}`
    read += rows.length
    if (read > maxParts) return unknownSize
    const found = (rows as [string, string, number][]).filter(([digest]) => !sizes.has(digest))
    for (const [digest, , partSize] of found) sizes.set(digest, partSize)
    manifests = [...new Set(found.flatMap(([digest, kind]) => (kind === 'manifest' ? digest : [])))]
  }
  return [...sizes.values()].reduce((sum, partSize) => sum + partSize, size)
}
