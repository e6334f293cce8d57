import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { among, join, raw, sql } from './sql.ts'

const find = (column: string, ...keys: string[]) =>
  sql`select ${raw(column)} from t where key in ${among(keys)}`

describe('statements that are put together', () => {
  test('have the same pieces whenever their parts have, whatever their values', () => {
    const { pieces, values } = find('a', 'x', 'y')
    assert.equal(find('a', 'v', 'w').pieces, pieces)
    assert.deepEqual(pieces, ['select a from t where key in (', ', ', ')'])
    assert.deepEqual(values, ['x', 'y'])
  })

  test('have others where a part is another, or stands elsewhere', () => {
    const texts = [
      find('a', 'x'),
      find('b', 'x'),
      find('a', 'x', 'y'),
      sql`${raw('a')} ${'b'}`,
      sql`${'a'} ${raw('b')}`,
      sql`${raw('a')} ${raw('b')}`,
      join([raw('a'), raw('b')], ' and '),
      join([raw('a'), raw('b')], ' or '),
      join([], ' or '),
      raw(' or '),
    ].map(({ pieces }) => pieces.join('?'))
    assert.deepEqual(texts.slice(3), ['a ?', '? b', 'a b', 'a and b', 'a or b', '', ' or '])
    assert.equal(new Set(texts).size, texts.length)
  })

  test('are not kept where they are large: each length would be one more', () => {
    const keys = Array.from({ length: 1000 }, (_, at) => String(at))
    assert.notEqual(find('a', ...keys).pieces, find('a', ...keys).pieces)
    assert.equal(find('a', ...keys).pieces.length, 1025)
  })
})
