// Advisories that are in no segment, as a migration leaves them, are put into one.
import { rootOf } from '../../../aip/uid.ts'
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { addPostings, segmentOf } from './postings.ts'
import { hashesOf, numberOf, unlisted } from './terms.ts'

const rowsAtOnce = 2000

export async function reindexAdvisories(store: Store): Promise<void> {
  while ((await store.query(sql`select 1 from advisories where segment = 0 limit 1`)).length > 0)
    await store.write(indexSome)
}

function* indexSome(): Work<void> {
  // Another copy may be about it as well: what it has done is not found again.
  const rows = yield* all(sql`select uid, terms, texts from advisories where segment = 0
    order by uid limit ${rowsAtOnce} /*pg for update */`)
  const [first] = rows
  if (!first) return
  const segment = segmentOf(first[0] as string)
  const indexed = (rows as [string, string, string][]).map(([uid, terms, texts]) => ({
    number: numberOf(uid),
    hashes: hashesOf(rootOf(uid), unlisted(terms), unlisted(texts)),
  }))
  yield* addPostings(segment, indexed)
  for (const [uid] of rows) yield sql`update advisories set segment = ${segment} where uid = ${uid as string}`
}
