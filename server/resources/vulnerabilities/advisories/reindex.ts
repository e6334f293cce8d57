// Adds to the search index the advisories that a migration has left without a segment.
import { rootOf } from '../../../aip/uid.ts'
import type { Store } from '../../../store/db.ts'
import { documentNumberOf, newBlock } from '../../../store/postings/numbering.ts'
import { addPostings } from '../../../store/postings/postings.ts'
import { termHashes } from '../../../store/postings/term-hash.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { advisoryIndex, splitLines } from './terms.ts'

const rowsPerTransaction = 2000
/** The maximum number of uids in the `in (…)` of one statement. */
const uidsPerStatement = 512

export async function reindexAdvisories(store: Store): Promise<void> {
  while ((await store.query(sql`select 1 from advisories where segment = 0 limit 1`)).length > 0)
    await store.write(indexBatch)
}

function* indexBatch(): Work<void> {
  // The lock keeps other processes that start at the same time from indexing the same rows.
  const rows = yield* all(sql`select uid, terms, texts from advisories where segment = 0
    order by uid limit ${rowsPerTransaction} /*pg for update */`)
  const [first] = rows
  if (!first) return
  const segment = newBlock(first[0] as string)
  const documents = (rows as [string, string, string][]).map(([uid, terms, texts]) => ({
    number: documentNumberOf(uid),
    hashes: termHashes(rootOf(uid), splitLines(terms), splitLines(texts)),
  }))
  yield* addPostings(advisoryIndex, segment, documents)
  const uids = rows.map(([uid]) => uid as string)
  for (let at = 0; at < uids.length; at += uidsPerStatement)
    yield sql`update advisories set segment = ${segment} where uid in ${among(uids.slice(at, at + uidsPerStatement))}`
}
