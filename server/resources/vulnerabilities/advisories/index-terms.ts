// Writes what advisories are found by.
import type { Sql } from '../../../store/sql.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { trigramsOf } from './terms.ts'

/** The elements of a JSON array as rows of one column, `value`. */
const each = (items: readonly string[]): Sql => sql`/*pg json_array_elements_text( -- */ json_each(
  ${JSON.stringify(items)} /*pg ::json) as t(value) -- */ )
  `

export function* addTerms(root: string, uid: string, terms: readonly string[]): Work<void> {
  if (terms.length === 0) return
  yield sql`insert into advisory_terms (root, term, uid) select ${root}, value, ${uid} from ${each(terms)}
    where true on conflict do nothing`
}

export function* removeTerms(root: string, uid: string, terms: readonly string[]): Work<void> {
  if (terms.length === 0) return
  yield sql`delete from advisory_terms where root = ${root} and uid = ${uid}
    and term in (select value from ${each(terms)})`
}

/** Texts that are new to the organization are taken apart. */
export function* addTexts(root: string, texts: readonly string[]): Work<void> {
  if (texts.length === 0) return
  const added = yield sql`insert into advisory_texts (root, content) select ${root}, value from ${each(texts)}
    where true on conflict do nothing returning content`
  for (const [content] of added) {
    const trigrams = trigramsOf(content as string)
    if (trigrams.length > 0)
      yield sql`insert into advisory_trigrams (root, trigram, content)
        select ${root}, value, ${content as string} from ${each(trigrams)} where true on conflict do nothing`
  }
}
