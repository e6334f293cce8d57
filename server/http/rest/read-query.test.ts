// Tests that query parameters are read by the rules of grpc-gateway, except that empty filters are rejected.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonValue } from '@bufbuild/protobuf'
import { create, toJson } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { ListGroupsRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import fc from 'fast-check'
import { StatusError } from '../../aip/errors.ts'
import { declareMessages } from '../../testing/declared-messages.ts'
import { readQuery } from './read-query.ts'

const sample = declareMessages(
  {
    Sample: {
      text: 'string',
      flag: 'bool',
      small: 'int32',
      unsigned: 'uint32',
      big: 'int64',
      ratio: 'double',
      data: 'bytes',
      color: 'Color',
      maybe: { type: 'int32', optional: true },
      texts: { type: 'string', list: true },
      numbers: { type: 'int32', list: true },
      colors: { type: 'Color', list: true },
      labels: { type: 'string', key: 'string' },
      counts: { type: 'int32', key: 'string' },
      some_time: 'google.protobuf.Timestamp',
      some_span: 'google.protobuf.Duration',
      update_mask: 'google.protobuf.FieldMask',
      inner: 'Inner',
      inners: { type: 'Inner', list: true },
      one_text: { type: 'string', oneof: 'choice' },
      one_number: { type: 'int32', oneof: 'choice' },
      one_inner: { type: 'Inner', oneof: 'choice' },
      other_inner: { type: 'Inner', oneof: 'choice' },
    },
    Inner: { deep_text: 'string', deeper: 'Inner' },
  },
  { Color: { COLOR_UNSPECIFIED: 0, RED: 1, BLUE: 5 } },
)('Sample')

const nothingBound = () => false
const neverStrict = () => false

function read(query: string, desc = sample, isBound: (path: string) => boolean = nothingBound): JsonValue {
  const message = reflect(desc, create(desc))
  readQuery(message, query, { isBound, isStrictFor: neverStrict })
  return toJson(desc, message.message)
}

function assertRejected(query: string, field: string, description = /./, desc = sample): void {
  assert.throws(
    () => read(query, desc),
    (error) => {
      assert.ok(error instanceof StatusError, String(error))
      assert.equal(error.http, 400)
      assert.deepEqual(
        error.violations.map((violation) => violation.field),
        [field],
      )
      assert.match(error.violations[0]?.description ?? '', description)
      return true
    },
    query,
  )
}

const malformed = (error: unknown) =>
  error instanceof StatusError && error.http === 400 && error.code === 3 && error.violations.length === 0

describe('a parameter', () => {
  test('is named in proto or JSON spelling, in each segment of its path', () => {
    for (const name of ['uidp.descendants_of', 'uidp.descendantsOf']) {
      assert.deepEqual(read(`${name}=a`, ListGroupsRequestSchema), { uidp: { descendantsOf: 'a' } })
    }
    assert.deepEqual(read('page_size=5&orderBy=name', ListGroupsRequestSchema), {
      pageSize: 5,
      orderBy: 'name',
    })
    assert.deepEqual(read('inner.deeper.deep_text=a&inner.deepText=b'), {
      inner: { deepText: 'b', deeper: { deepText: 'a' } },
    })
  })

  test('counts as repeated if it appears in both spellings', () => {
    assertRejected('some_time=2026-01-01T00:00:00Z&someTime=2026-01-01T00:00:00Z', 'some_time', /one value/)
  })

  test('of a single field may not be repeated, even with the same value', () => {
    assertRejected('text=a&text=b', 'text', /^takes one value, but the query has several$/)
    assertRejected('text=a&text=a', 'text', /one value/)
  })

  test('whose field is set from the path or the body is ignored, if the rules are not strict', () => {
    const isBound = (path: string) => path === 'text' || path.startsWith('inner.')
    assert.deepEqual(read('text=a&inner.deep_text=b&small=1', sample, isBound), { small: 1 })
    assert.deepEqual(read('text=a&text=b&inner.deepText=%61', sample, isBound), {})
  })

  test('that does not name a leaf field is ignored, if the rules are not strict', () => {
    const unknown = [
      'nothing=1',
      'text.x=1',
      'inner=x',
      'inner.=1',
      '.text=1',
      '=1',
      'Text=1',
      'some_time.seconds=1',
    ]
    for (const query of [
      ...unknown,
      '__proto__=1',
      'constructor.name=1',
      '__proto__[x]=1',
      'inner.__proto__=1',
      '[x]=1',
    ]) {
      assert.deepEqual(read(query), {}, query)
    }
  })

  test('without a value is rejected, since it would not restrict the call', () => {
    for (const query of ['text', 'text=', 'text=&text=']) assertRejected(query, 'text', /^must not be empty/)
    for (const query of ['texts', 'texts=a&texts=']) assertRejected(query, 'texts', /^must not be empty/)
    assertRejected(
      'uidp.descendantsOf=',
      'uidp.descendants_of',
      /^must not be empty/,
      ListGroupsRequestSchema,
    )
    assertRejected('small', 'small')
  })

  test('for the page token or the order may be empty', () => {
    assert.deepEqual(read('page_token=&orderBy=', ListGroupsRequestSchema), {})
  })

  test('is decoded: + is a space, escapes are UTF-8, and a value may contain =', () => {
    assert.deepEqual(read('text=a+b%2Bc%20%C3%A9%F0%9F%98%80=d'), { text: 'a b+c é😀=d' })
    assert.deepEqual(read('te%78t=a'), { text: 'a' })
    assert.deepEqual(read('&&text=a&'), { text: 'a' })
  })

  test('with a malformed escape is rejected', () => {
    for (const query of [
      'text=%',
      'text=%zz',
      'text=%a',
      '%zz=1',
      'unknown=%zz',
      'text=%ff',
      'text=%ed%a0%80',
    ]) {
      assert.throws(() => read(query), malformed, query)
    }
  })

  test('is separated from the next one by & and not by a semicolon', () => {
    assert.throws(() => read('text=a;small=1'), malformed)
    assert.throws(() => read('unknown=a;b'), malformed)
    assert.deepEqual(read('text=a%3Bb'), { text: 'a;b' })
  })

  test('is rejected if the query has more than 2000 parameters', () => {
    assert.deepEqual(read(Array(2000).fill('x=1').join('&')), {})
    assert.throws(() => read(Array(2001).fill('x=1').join('&')), malformed)
    assert.throws(() => read('&'.repeat(1_000_000)), malformed)
  })
})

describe('a value', () => {
  test('of an integer field is decimal and in range', () => {
    for (const [query, small] of [
      ['small=0', undefined],
      ['small=-2147483648', -2147483648],
      ['small=007', 7],
      ['small=%2B5', 5],
    ] as const) {
      assert.deepEqual(read(query), small === undefined ? {} : { small }, query)
    }
    assert.deepEqual(read('big=-9223372036854775808'), { big: '-9223372036854775808' })
    const wrong = [
      '',
      '1.0',
      '1e2',
      '0x10',
      '1_000',
      ' 1',
      '1 ',
      '+1',
      '--1',
      '2147483648',
      'NaN',
      'ten',
      '１',
      '9'.repeat(5000),
    ]
    for (const text of wrong)
      assertRejected(`small=${text}`, 'small', /^must be a whole number in range, not "/)
    for (const text of ['', '1.5', '9223372036854775808', '0x1', '9'.repeat(5000)])
      assertRejected(`big=${text}`, 'big')
    assertRejected('unsigned=-1', 'unsigned')
    assertRejected('maybe=', 'maybe')
  })

  test('of a bool field is true or false in one of twelve spellings', () => {
    for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True'])
      assert.deepEqual(read(`flag=${text}`), { flag: true })
    for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False']) assert.deepEqual(read(`flag=${text}`), {})
    for (const text of ['', 'yes', 'tRUE', '2', 'null'])
      assertRejected(`flag=${text}`, 'flag', /^must be true or false/)
  })

  test('of an enum field is the name or the number of one of its values', () => {
    assert.deepEqual(read('color=BLUE'), { color: 'BLUE' })
    assert.deepEqual(read('color=5'), { color: 'BLUE' })
    assert.deepEqual(read('color=0'), {})
    assert.deepEqual(read('colors=RED&colors=5'), { colors: ['RED', 'BLUE'] })
    for (const text of ['', 'blue', 'GREEN', '2', '-1', '5.0', '99999999999', 'constructor'])
      assertRejected(`color=${text}`, 'color', /COLOR_UNSPECIFIED, RED, BLUE/)
    assertRejected('colors=RED&colors=2', 'colors')
  })

  test('of a float field is written as in JSON', () => {
    assert.deepEqual(read('ratio=1.5e3'), { ratio: 1500 })
    assertRejected('ratio=one', 'ratio')
  })

  test('of a bytes field is base64 of either alphabet, with or without padding', () => {
    for (const text of ['-_8=', '-_8', '%2B/8%3D']) assert.deepEqual(read(`data=${text}`), { data: '+/8=' })
    assertRejected('data=!', 'data', /base64/)
  })

  test('of a timestamp field is RFC 3339 with an offset', () => {
    assert.deepEqual(read('some_time=2026-01-01T01:00:00.5%2B01:00'), {
      someTime: '2026-01-01T00:00:00.500Z',
    })
    for (const text of [
      '',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '1767225600',
      'now',
      '2026-13-01T00:00:00Z',
    ]) {
      assertRejected(`some_time=${text}`, 'some_time', /Timestamp/)
    }
  })

  test('of a duration field is written as in JSON or Go', () => {
    const spans = {
      '5400s': '5400s',
      '1h30m': '5400s',
      '1.5h': '5400s',
      '-1m': '-60s',
      '1.5s': '1.500s',
      '250ms': '0.250s',
    }
    for (const [text, someSpan] of Object.entries({
      ...spans,
      '1h0.5m1s1ms': '3631.001s',
      '100ns': '0.000000100s',
      '7us': '0.000007s',
      '0s': '0s',
    })) {
      assert.deepEqual(read(`some_span=${text}`), { someSpan }, text)
    }
    for (const text of [
      '',
      '5400',
      'h',
      '1h30',
      '1d',
      '1sx',
      'x1s',
      '--1s',
      '1s ',
      '1e3s',
      '1h-30m',
      '1h 30m',
      `${'9'.repeat(400)}h`,
      '9'.repeat(8000),
      `1.${'9'.repeat(8000)}`,
      '315576000001s',
    ]) {
      assertRejected(`some_span=${text}`, 'some_span', /Duration/)
    }
  })

  test('of a mask field is a list of paths in either spelling, separated by commas', () => {
    const message = reflect(sample, create(sample))
    readQuery(message, 'updateMask=some_time,someSpan,%20inner.deepText', {
      isBound: nothingBound,
      isStrictFor: neverStrict,
    })
    const { updateMask } = message.message as unknown as { updateMask: { paths: string[] } }
    assert.deepEqual(updateMask.paths, ['some_time', 'someSpan', ' inner.deepText'])
    assertRejected('updateMask=text&update_mask=small', 'update_mask', /one value/)
  })
})

describe('several parameters', () => {
  test('make a list in their order; a comma is part of a value', () => {
    assert.deepEqual(read('texts=b&texts=a,c&texts=d'), { texts: ['b', 'a,c', 'd'] })
    assert.deepEqual(read('numbers=1&numbers=2'), { numbers: [1, 2] })
    assert.deepEqual(read('uidp.ids=a&uidp.ids=b', ListGroupsRequestSchema), { uidp: { ids: ['a', 'b'] } })
    assertRejected('numbers=1,2', 'numbers')
  })

  test('make a map, in which each parameter sets one key', () => {
    assert.deepEqual(read('labels[a]=1&labels[b.c]=2&counts[x]=3'), {
      labels: { a: '1', 'b.c': '2' },
      counts: { x: 3 },
    })
    assert.deepEqual(read('labels[a]=1&labels[a]=2'), { labels: { a: '2' } })
    const json = JSON.stringify(read('labels[__proto__]=1&labels[constructor]=2&labels[]=3'))
    assert.equal(json, '{"labels":{"__proto__":"1","constructor":"2","":"3"}}')
    assertRejected('labels=a', 'labels', /^is a map/)
    assertRejected('counts[x]=a', 'counts')
  })

  test('with keys in brackets are rejected for a field that is not a map', () => {
    for (const [query, field] of [
      ['text[a]=b', 'text'],
      ['texts[]=b', 'texts'],
      ['small[x]=1', 'small'],
    ] as const) {
      assertRejected(query, field, /is not a map/)
    }
  })

  test('do not make a list of messages', () => {
    assertRejected('inners=a', 'inners')
  })

  test('for members of the same oneof are rejected', () => {
    assert.deepEqual(read('one_number=0'), { oneNumber: 0 })
    assertRejected('one_text=a&one_number=1', 'one_number', /^cannot be set together with one_text/)
    assertRejected('one_text=a&oneInner.deepText=b', 'one_inner', /^cannot be set together with one_text/)
    assertRejected(
      'one_inner.deep_text=a&other_inner.deep_text=b',
      'other_inner',
      /^cannot be set together with one_inner/,
    )
    assert.deepEqual(read('one_inner.deep_text=a&one_inner.deeper.deep_text=b'), {
      oneInner: { deepText: 'a', deeper: { deepText: 'b' } },
    })
  })
})

test('any query is either read or rejected with a StatusError', () => {
  const name = fc.oneof(
    fc.constantFrom(...sample.fields.flatMap(({ name, jsonName }) => [name, jsonName, `${name}[k]`])),
    fc.string(),
  )
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom('%', '1', '-1', 'true', '%00', '%F0%9F%98%80', '1h', '\ud800'),
  )
  const query = fc.array(
    fc.tuple(name, value).map(([left, right]) => `${left}=${right}`),
    { maxLength: 4 },
  )
  fc.assert(
    fc.property(query, (pairs) => {
      try {
        readQuery(reflect(sample, create(sample)), pairs.join('&'), {
          isBound: nothingBound,
          isStrictFor: neverStrict,
        })
      } catch (error) {
        assert.ok(error instanceof StatusError && error.http === 400, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})
