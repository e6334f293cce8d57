// Writes what advisories are found by.
import type { Sql } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { hashOf, numberOf, termHash, trigramsOf } from './terms.ts'

/** The elements of a JSON array as rows of one column, `value`. */
const each = (items: string): Sql => sql`/*pg json_array_elements( -- */ json_each(
  ${items} /*pg ::json) as t(value) -- */ )
  `

/** JSON, written by hand: there are dozens of pairs for each advisory. */
const asJson = (pairs: readonly Pair[]) => `[${pairs.map(([a, b]) => `[${a},${b}]`).join(',')}]`

/** One of the two things that stand together in an element. */
const element = (at: 0 | 1, type: 'bigint' | 'text'): Sql =>
  raw(`/*pg (value->>${at})::${type} -- */ json_extract(value, '$[${at}]')
    `)

type Pair = [number, number]

/** That of the index, so that neighbours are written together. */
const inOrder = raw('order by 1, 2')

/** A term of an advisory. */
export type Indexed = { term: string; uid: string }

export function* addTerms(root: string, indexed: readonly Indexed[]): Work<void> {
  if (indexed.length === 0) return
  const pairs = indexed.map(({ term, uid }): Pair => [termHash(root, term), numberOf(uid)])
  yield sql`insert into advisory_terms (term, advisory)
    select ${element(0, 'bigint')}, ${element(1, 'bigint')} from ${each(asJson(pairs))}
    where true ${inOrder} on conflict do nothing`
}

export function* removeTerms(root: string, uid: string, terms: readonly string[]): Work<void> {
  if (terms.length === 0) return
  const pairs = terms.map((term): Pair => [termHash(root, term), numberOf(uid)])
  yield sql`delete from advisory_terms where advisory = ${numberOf(uid)}
    and term in (select ${element(0, 'bigint')} from ${each(asJson(pairs))})`
}

/** Texts that are new to the organization are taken apart. */
export function* addTexts(root: string, texts: readonly string[]): Work<void> {
  if (texts.length === 0) return
  const numbered = [...new Set(texts)].map((text): [number, string] => [hashOf(`${root}\n${text}`), text])
  const added = yield sql`insert into advisory_texts (number, content)
    select ${element(0, 'bigint')}, ${element(1, 'text')}
    from ${each(JSON.stringify(numbered))} where true ${inOrder} on conflict do nothing
    returning number, content`
  const pairs = added.flatMap(([number, content]) =>
    trigramsOf(content as string).map((trigram): Pair => [hashOf(`${root}\n${trigram}`), number as number]),
  )
  if (pairs.length > 0)
    yield sql`insert into advisory_trigrams (trigram, content)
      select ${element(0, 'bigint')}, ${element(1, 'bigint')} from ${each(asJson(pairs))}
      where true ${inOrder} on conflict do nothing`
}
