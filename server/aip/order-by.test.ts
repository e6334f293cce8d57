import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { StatusError } from './errors.ts'
import type { OrderTerm } from './order-by.ts'
import { parseOrderBy } from './order-by.ts'

const sortable = new Map([
  ['uid', 'uid'],
  ['name', 'name'],
  ['create_time', 'create_time'],
  ['createTime', 'create_time'],
  ['created_at', 'create_time'],
  ['update_time', 'update_time'],
  ['expiration_time', 'expire_time'],
  ['expirationTime', 'expire_time'],
])
const fallback: OrderTerm[] = [{ column: 'uid', descending: false }]
const parse = (text: string, otherwise = fallback) => parseOrderBy(text, sortable, otherwise)
const asc = (column: string): OrderTerm => ({ column, descending: false })
const desc = (column: string): OrderTerm => ({ column, descending: true })

function assertRejected(text: string, description: RegExp = /^must be fields separated by commas/): void {
  assert.throws(
    () => parse(text),
    (error) => {
      assert.ok(error instanceof StatusError)
      assert.equal(error.http, 400)
      const [violation] = error.violations
      assert.equal(violation?.field, 'order_by')
      assert.match(violation.description, description)
      return true
    },
    JSON.stringify(text),
  )
}

describe('order_by', () => {
  test('is ascending unless desc is given', () => {
    assert.deepEqual(parse('name'), [asc('name'), asc('uid')])
    assert.deepEqual(parse('name asc'), [asc('name'), asc('uid')])
    assert.deepEqual(parse('name desc'), [desc('name'), desc('uid')])
  })

  test('accepts every spelling of a field', () => {
    for (const spelling of ['create_time', 'createTime', 'created_at']) {
      assert.deepEqual(parse(`${spelling} desc`), [desc('create_time'), desc('uid')])
    }
  })

  test('ends with the uid, in the direction of the last field', () => {
    assert.deepEqual(parse('name desc, update_time'), [desc('name'), asc('update_time'), asc('uid')])
    assert.deepEqual(parse('name, update_time desc'), [asc('name'), desc('update_time'), desc('uid')])
  })

  test('ignores fields after the uid, because uids are unique', () => {
    assert.deepEqual(parse('uid desc'), [desc('uid')])
    assert.deepEqual(parse('name, uid desc, update_time'), [asc('name'), desc('uid')])
  })

  test('ignores extra spaces', () => {
    assert.deepEqual(parse('  name   desc  ,update_time  '), [desc('name'), asc('update_time'), asc('uid')])
  })

  test('defaults to the order of the kind if it is empty', () => {
    assert.deepEqual(parse(''), [asc('uid')])
    assert.deepEqual(parse('   '), [asc('uid')])
    assert.deepEqual(parse('', [desc('create_time')]), [desc('create_time'), desc('uid')])
  })

  test('is rejected for a field that is not sortable; the error lists the sortable ones', () => {
    for (const text of [
      'description',
      'expire_time',
      'Name',
      'name.first',
      'constructor',
      '__proto__',
      'toString',
      'uid;',
    ]) {
      assertRejected(text, /the fields are uid, name, create_time, update_time, expiration_time$/)
    }
  })

  test('is rejected if it is malformed', () => {
    const malformed = [
      ...[',', 'name,', ',name', 'name,,uid', 'name desc desc', 'name descending', 'name DESC', 'desc'],
      ...['name\tdesc', 'name\n', '-name', 'name+desc', "name'; drop table groups; --", 'name\0', '\ud800'],
    ]
    for (const text of malformed) assertRejected(text)
    assertRejected(`name${' '.repeat(1_000_000)}x`)
  })

  test('is rejected if it contains a field twice, in any spelling', () => {
    assertRejected('name, name desc', /^must contain each field once, but name appears twice$/)
    assertRejected('create_time, createTime', /createTime appears twice/)
  })

  test('is rejected if it has more than eight fields', () => {
    assertRejected(Array(9).fill('name').join(','), /^must contain at most 8 fields$/)
    assertRejected(','.repeat(1_000_000), /^must contain at most 8 fields$/)
  })

  test('always results in a total order, with each column once and the uid last', () => {
    const term = fc.tuple(
      fc.constantFrom('uid', 'name', 'createTime', 'update_time'),
      fc.constantFrom('', ' asc', ' desc'),
    )
    const terms = fc.uniqueArray(term, { selector: ([field]) => field, minLength: 1 })
    fc.assert(
      fc.property(terms, (list) => {
        const order = parse(list.map(([field, direction]) => field + direction).join(', '))
        const columns = order.map(({ column }) => column)
        assert.equal(columns.indexOf('uid'), columns.length - 1)
        assert.equal(new Set(columns).size, columns.length)
      }),
    )
  })

  test('parses any text, or rejects it with a StatusError', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          assert.equal(parse(text).at(-1)?.column, 'uid')
        } catch (error) {
          assert.ok(error instanceof StatusError)
        }
      }),
    )
  })
})
