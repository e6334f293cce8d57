import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Store } from '../db.ts'
import type { Sql } from '../sql.ts'
import { bulkInsert, sql } from '../sql.ts'
import { StoreError } from '../store-error.ts'
import { onEachMigrated, openMigrated, recordStatements } from '../test-stores.ts'
import { findAny, findByTrigrams } from './find.ts'
import { blockOf, documentNumberOf, newBlock, openSegments } from './numbering.ts'
import { pack, unpack } from './pack.ts'
import { addPostings, changePostings } from './postings.ts'
import { hashOf, termHashes } from './term-hash.ts'

describe('stored numbers', () => {
  test('hashes of terms never change', () => {
    assert.deepEqual(
      [...termHashes('root', ['n:nginx'], ['cve-1'])],
      [4093309636372963, 379409133296278, 822438227254394, 1200302823412003],
    )
    assert.equal(hashOf('x\ny'), 2408548110276234)
  })

  test('packs contain little-endian doubles and are read from any offset in memory', () => {
    const numbers = [0, 1, 2 ** 52, 2 ** 53 - 1]
    const bytes = pack(numbers)
    assert.equal(Buffer.from(pack([1])).toString('hex'), '000000000000f03f')
    assert.deepEqual([...unpack(bytes)], numbers)
    const shifted = Buffer.concat([Buffer.alloc(3), bytes]).subarray(3)
    assert.deepEqual([...unpack(shifted)], numbers)
    assert.deepEqual([...unpack(pack([]))], [])
  })

  test('the number of a document is the first 52 of the last 64 bits of its uid', () => {
    assert.equal(documentNumberOf(`${'f'.repeat(40)}/0000000000123abc`), 0x123)
  })

  test('eight batches of an import share a block', () => {
    const next = openSegments()
    const uid = `${'f'.repeat(40)}/0123456789abcdef`
    const segments = Array.from({ length: 9 }, () => next(uid))
    assert.equal(segments[0], newBlock(uid))
    assert.equal(segments[7], newBlock(uid) + 7 * 32)
    assert.equal(new Set(segments.slice(0, 8).map(blockOf)).size, 1)
  })
})

const index = { table: 'advisory_postings', numbersColumn: 'advisories' }

onEachMigrated(['SQLite', 'PostgreSQL'], 'a search index', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })

  let termCount = 0
  const newTerm = () => ++termCount
  let segmentCount = 0
  const newSegment = () => 2 ** 52 + ++segmentCount * 256
  const add = (segment: number, numbers: number[], hashes: number[]) =>
    store.write(() =>
      addPostings(
        index,
        segment,
        numbers.map((number) => ({ number, hashes })),
      ),
    )
  const find = async (hashes: number[], candidates?: Set<number>) => {
    const numbers = await store.read(() => findAny(index, hashes, { candidates }))
    return numbers && [...numbers].sort((a, b) => a - b)
  }
  const rowsOf = (term: number) =>
    store.query(sql`select segment, count from advisory_postings where term = ${term} order by segment`)
  const isExpensive = (error: unknown) => error instanceof StoreError && error.kind === 'expensive'
  const range = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at)

  test('keeps all postings of a rare term in a block in one pack', async () => {
    const [term, segment] = [newTerm(), newSegment()]
    for (const at of range(8)) await add(segment + at * 32, range(14, at * 100), [term])
    assert.deepEqual(await rowsOf(term), [[segment, 112]])
    assert.equal((await find([term]))?.length, 112)
  })

  test('keeps a common term in packs of 120, and its total in a row of its own', async () => {
    const [term, segment] = [newTerm(), newSegment()]
    await add(segment, range(250), [term])
    await add(segment + 32, range(15, 1000), [term])
    assert.deepEqual(await rowsOf(term), [
      [-1, 265],
      [segment + 1, 120],
      [segment + 2, 120],
      [segment + 3, 10],
      [segment + 33, 15],
    ])
    assert.deepEqual(await find([term]), [...range(250), ...range(15, 1000)])
  })

  test('keeps packs small if a term is common in the first segment of a block and rare in the others', async () => {
    const [term, segment] = [newTerm(), newSegment()]
    await add(segment, range(120), [term])
    for (const at of range(7, 1)) await add(segment + at * 32, range(14, at * 1000), [term])
    assert.deepEqual(await rowsOf(term), [
      [-1, 120],
      [segment, 98],
      [segment + 1, 120],
    ])
  })

  test('keeps packs small if documents get the same term one by one, and removes it from each', async () => {
    const [term, segment] = [newTerm(), newSegment()]
    const changeAll = (at: number, numbers: number[], before: number[], after: number[]) =>
      store.write(function* () {
        for (const number of numbers)
          yield* changePostings(index, at, number, new Set(before), new Set(after))
      })
    const [first, second] = [range(130), range(130, 1000)]
    await changeAll(segment, first, [], [term])
    await changeAll(segment + 32, second, [], [term])
    assert.deepEqual(await rowsOf(term), [
      [segment, 120],
      [segment + 1, 10],
      [segment + 33, 120],
      [segment + 34, 10],
    ])
    assert.deepEqual(await find([term]), [...first, ...second])
    await changeAll(segment + 32, second, [term], [])
    assert.deepEqual(await find([term]), first)
    await changeAll(segment, first, [term], [])
    assert.deepEqual(await rowsOf(term), [])
  })

  test('removes terms from packs that earlier versions stored under the number of the segment', async () => {
    const [term, segment] = [newTerm(), newSegment() + 32]
    await store.write(function* () {
      yield sql`insert into advisory_postings (term, segment, count, advisories)
        values (${term}, ${segment}, 2, ${pack([1, 2])})`
      yield* changePostings(index, segment, 1, new Set([term]), new Set())
    })
    assert.deepEqual(await find([term]), [2])
  })

  test('finds documents that have any of the terms, limited to candidates if these are given', async () => {
    const [first, second] = [newTerm(), newTerm()]
    await add(newSegment(), [1, 2], [first])
    await add(newSegment(), [2, 3], [second])
    assert.deepEqual(await find([first, second]), [1, 2, 3])
    assert.deepEqual(await find([first, second], new Set([2, 3, 4])), [2, 3])
    assert.deepEqual(await find([newTerm()]), [])
    assert.deepEqual(await find([]), [])
  })

  test('returns undefined for terms with more than 50,000 postings', async () => {
    const [common, rare] = [newTerm(), newTerm()]
    for (const at of range(20)) await add(newSegment(), range(3000, at * 3000), [common])
    await add(newSegment(), [7], [rare])
    assert.equal(await find([common]), undefined)
    assert.equal(await find([common, rare]), undefined)
    assert.deepEqual(await find([rare]), [7])
  })

  test('reads at most as many postings as the caller allows', async () => {
    const [common, rare] = [newTerm(), newTerm()]
    await add(newSegment(), range(300), [common])
    await add(newSegment(), [7], [rare])
    for (const find of [findAny, findByTrigrams]) {
      const search = (hashes: number[], maxPostings: number) =>
        store.read(() => find(index, hashes, { maxPostings }))
      await assert.rejects(async () => search([common], 299), isExpensive)
      assert.equal((await search([common], 300))?.size, 300)
      assert.equal((await search([rare], 1))?.size, 1)
    }
  })

  test('finds a text by its rarest trigrams', async () => {
    const [common, rare] = [newTerm(), newTerm()]
    for (const at of range(20)) await add(newSegment(), range(3000, at * 3000), [common])
    await add(newSegment(), [3, 70_000], [rare])
    const search = (trigrams: number[], candidates?: Set<number>) =>
      store.read(() => findByTrigrams(index, trigrams, { candidates }))
    assert.deepEqual(await search([common, rare]), new Set([3, 70_000]))
    assert.deepEqual(await search([common, rare], new Set([3])), new Set([3]))
    assert.equal(await search([common]), undefined)
    assert.equal(await search([]), undefined)
  })

  test('finds a text by its rarest trigrams if each document was written alone', async () => {
    const common = range(6).map(newTerm)
    const [rare, rarest] = [newTerm(), newTerm()]
    const trigrams = [...common, rare, rarest]
    const hashesOf = (at: number) => [
      ...common,
      ...(at % 100 === 0 ? [rare] : []),
      ...(at % 300 === 0 ? [rarest] : []),
    ]
    const packs = range(4100).flatMap((at) => hashesOf(at).map((hash) => [hash, at * 256, 1, pack([at])]))
    await store.write(function* () {
      yield bulkInsert(sql`insert into advisory_postings (term, segment, count, advisories)`, packs)
    })
    const search = (hashes: number[], maxPostings: number) =>
      store.read(() => findByTrigrams(index, hashes, { maxPostings }))
    assert.deepEqual(await search(trigrams, 14), new Set(range(14).map((at) => at * 300)))
    assert.equal((await search([...common, rare], 41))?.size, 41)
    await assert.rejects(async () => search([...common, rare], 40), isExpensive)
    assert.equal(await search(common, 41), undefined)
  })

  test('changes the terms of one document, not those of another with the same number', async () => {
    const [kept, removed, added] = [newTerm(), newTerm(), newTerm()]
    const segment = newSegment()
    await add(segment, [5, 5, 6], [kept, removed])
    const change = (before: number[], after: number[]) =>
      store.write(() => changePostings(index, segment, 5, new Set(before), new Set(after)))
    await change([kept, removed], [kept, added])
    assert.deepEqual(await find([removed]), [5, 6])
    assert.deepEqual(await find([added]), [5])
    assert.deepEqual(await find([kept]), [5, 6])
    await change([added, kept], [kept])
    assert.deepEqual(await rowsOf(added), [])
  })

  test('changes more terms of a document than a statement can have values', async () => {
    const [kept, segment] = [newTerm(), newSegment()]
    const terms = range(33_000).map(newTerm)
    await add(segment, [8], [kept, ...terms.slice(0, 1000)])
    await store.write(() => changePostings(index, segment, 9, new Set(), new Set([kept, ...terms])))
    assert.deepEqual(await find([kept]), [8, 9])
    assert.deepEqual(await rowsOf(terms[999] ?? 0), [[segment, 2]])
    assert.deepEqual(await rowsOf(terms[32_999] ?? 0), [[segment, 1]])
    const removed = new Set(terms.slice(0, 1100))
    const statements: Sql[] = []
    await store.write(() =>
      recordStatements(changePostings(index, segment, 9, removed, new Set()), statements),
    )
    assert.ok(statements.length < 10, `${statements.length} statements`)
    assert.deepEqual(await rowsOf(terms[999] ?? 0), [[segment, 1]])
    assert.deepEqual(await rowsOf(terms[1099] ?? 0), [])
    assert.deepEqual(await find([terms[1100] ?? 0]), [9])
  })
})
