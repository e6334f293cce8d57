import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Placeholders, Sql, Value } from './sql.ts'
import { among, bulkInsert, join, prepared, raw, sql, tuple } from './sql.ts'
import { contentOf, fill } from './statement/statement.ts'

const textOf = (statement: Sql) => contentOf(statement).template.join('?')
const valuesOf = (statement: Sql) => [...contentOf(statement).values]
const templateOf = (statement: Sql) => contentOf(statement).template

const find = (column: string, ...keys: string[]) =>
  sql`select ${raw(column)} from t where key in ${among(keys)}`

describe('composed statements', () => {
  test('have the text and values of their parts, in order', () => {
    const statement = find('a', 'x', 'y')
    assert.equal(textOf(statement), 'select a from t where key in (?, ?)')
    assert.deepEqual(valuesOf(statement), ['x', 'y'])
  })

  test('share a template with every statement of the same parts, whatever the values', () => {
    assert.equal(templateOf(find('a', 'v', 'w')), templateOf(find('a', 'x', 'y')))
  })

  test('have different templates if a part differs or is in another position', () => {
    const statements = [
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
    ]
    const texts = statements.map(textOf)
    assert.deepEqual(texts.slice(3), ['a ?', '? b', 'a b', 'a and b', 'a or b', '', ' or '])
    assert.equal(new Set(texts).size, texts.length)
  })

  test('are not cached if they have very many placeholders', () => {
    const keys = Array.from({ length: 1000 }, (_, at) => String(at))
    assert.notEqual(templateOf(find('a', ...keys)), templateOf(find('a', ...keys)))
    assert.equal(valuesOf(find('a', ...keys)).length, 1024)
  })

  test('have a type that hides their text and values', () => {
    const statement = sql`select ${1}`
    // @ts-expect-error: opaque
    assert.ok(statement.template)
    // @ts-expect-error: opaque
    assert.ok(statement.values)
  })
})

describe('a mismatch of placeholders and values', () => {
  test('throws when a statement is made', () => {
    assert.throws(() => fill(['a = ', ''], []), /placeholders is 1, but the number of values is 0/)
    assert.throws(() => fill(['a = ', ''], ['x', 'y']), /placeholders is 1, but the number of values is 2/)
  })

  test('throws for an empty list', () => {
    assert.throws(() => among([]), /cannot be empty/)
    assert.throws(() => tuple([]), /cannot be empty/)
  })

  test('throws for rows of different lengths, and for values in the text after the rows', () => {
    const into = sql`insert into t (a, b)`
    assert.throws(() => bulkInsert(into, [[1, 2], [3]]), /placeholders is 2, but the number of values is 1/)
    assert.throws(() => bulkInsert(into, [[1, 2]], sql`on conflict (a) do update set b = ${1}`))
  })
})

describe('prepared statements', () => {
  let builds = 0
  const byName = ([name, ...uids]: Placeholders<[string, ...string[]]>, table: string) => {
    builds++
    return sql`select 1 from ${raw(table)} where uid in ${tuple(uids)} and name = ${name}`
  }

  test('put every value where its placeholder is', () => {
    const statement = prepared(byName, ['t'], ['name', 'a', 'b'])
    assert.equal(textOf(statement), 'select 1 from t where uid in (?, ?) and name = ?')
    assert.deepEqual(valuesOf(statement), ['a', 'b', 'name'])
  })

  test('repeat a value whose placeholder is used twice', () => {
    const twice = ([key]: Placeholders<[string]>) => sql`select ${key} union select ${key}`
    assert.deepEqual(valuesOf(prepared(twice, [], ['x'])), ['x', 'x'])
  })

  test('are built once for each combination of arguments and number of values', () => {
    builds = 0
    for (const table of ['u', 'v'])
      for (const uids of [['a'], ['b'], ['a', 'b']]) prepared(byName, [table], ['name', ...uids])
    assert.equal(builds, 4)
    assert.equal(
      templateOf(prepared(byName, ['u'], ['x', 'y'])),
      templateOf(prepared(byName, ['u'], ['z', 'w'])),
    )
  })

  test('throw if the text contains a value that is not a parameter', () => {
    const constant = ([key]: Placeholders<[Value]>) => sql`select ${key}, ${1}`
    assert.throws(() => prepared(constant, [], ['x']), /not a parameter/)
  })

  test('throw if a parameter is not used', () => {
    const unused = (_: Placeholders<[Value]>) => sql`select 1`
    assert.throws(() => prepared(unused, [], ['x']), /does not use all/)
  })
})
