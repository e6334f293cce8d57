// Computes the search columns of an advisory, and its hashes in the search index.
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rootOf } from '../../../aip/uid.ts'
import { documentNumberOf } from '../../../store/postings/numbering.ts'
import { termHashes } from '../../../store/postings/term-hash.ts'
import type { ExtraValues } from '../../kind.ts'
import type { advisories } from './table.ts'
import { joinLines, splitLines, termsOf, textsOf } from './terms.ts'

export type SearchColumns = ExtraValues<typeof advisories.extraColumns>

/**
 * `origin` is the source package of the artifact. `segment` is the segment of the index that the advisory is added to;
 * by default, a new one for this advisory alone.
 */
export function searchColumnsOf(
  advisory: Advisory,
  origin: string,
  segment = documentNumberOf(advisory.uid),
): { columns: SearchColumns; hashes: Set<number> } {
  const [terms, texts] = [termsOf(advisory, origin), textsOf(advisory)]
  const columns = { origin, terms: joinLines(terms), texts: joinLines(texts), segment }
  return { columns, hashes: termHashes(rootOf(advisory.uid), terms, texts) }
}

/** The hashes of an advisory that is stored with these columns. */
export const storedHashes = (uid: string, { terms, texts }: SearchColumns): Set<number> =>
  termHashes(rootOf(uid), splitLines(terms), splitLines(texts))
