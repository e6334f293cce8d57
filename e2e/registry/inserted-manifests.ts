// Statements that insert the rows of many manifests at once, without pushing the manifests.
import type { Sql } from '../../server/store/sql.ts'
import { bulkInsert, sql } from '../../server/store/sql.ts'

export const numbers = (length: number) => Array.from({ length }, (_, at) => at)

export const digest = (firstDigit: string, number: number) =>
  `sha256:${firstDigit}${number.toString(16).padStart(63, '0')}`

/** Each row has the given `size`, although the content of its manifest is one byte. */
export const insertManifests = (
  repo: string,
  manifests: readonly [digest: string, subject: string | null][],
  size = 1,
): Sql =>
  bulkInsert(
    sql`insert into manifests (repo, digest, media_type, artifact_type, subject, annotations, platforms, size,
      total_size, create_time, content)`,
    manifests.map(([own, subject]) => [
      ...[repo, own, 'x', 'x', subject, '{}', '', size, size, 0, Buffer.from('x')],
    ]),
  )

export const insertReferences = (
  repo: string,
  references: readonly [index: string, manifest: string][],
): Sql =>
  bulkInsert(
    sql`insert into manifest_references (repo, manifest, digest, kind)`,
    references.map(([index, manifest]) => [repo, index, manifest, 'manifest']),
  )
