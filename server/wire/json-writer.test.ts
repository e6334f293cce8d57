import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { create, fromJsonString, toJson } from '@bufbuild/protobuf'
import { DurationSchema, FieldMaskSchema, TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { FieldBehavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import {
  GroupSchema,
  ListGroupsResponseSchema,
  OrgKind,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import fc from 'fast-check'
import type { MessageSpec } from '../testing/declared-messages.ts'
import { declareMessages } from '../testing/declared-messages.ts'
import { shapeOf, writeJson } from './json-writer.ts'

const written = <D extends DescMessage>(desc: D, init: MessageInitShape<D>): JsonObject =>
  JSON.parse(writeJson(desc, create(desc, init)))

const sampleSpec: MessageSpec = {
  text: 'string',
  flag: 'bool',
  small: 'int32',
  big: 'int64',
  bigger: 'uint64',
  fixed: 'fixed64',
  ratio: 'double',
  data: 'bytes',
  color: 'Color',
  inner: 'Sample',
  maybe: { type: 'string', optional: true },
  maybe_color: { type: 'Color', optional: true },
  texts: { type: 'string', list: true },
  bigs: { type: 'int64', list: true },
  colors: { type: 'Color', list: true },
  inners: { type: 'Sample', list: true },
  by_text: { type: 'int32', key: 'string' },
  by_number: { type: 'Sample', key: 'int64' },
  by_flag: { type: 'Color', key: 'bool' },
  one_text: { type: 'string', oneof: 'choice' },
  one_inner: { type: 'Sample', oneof: 'choice' },
}
const colors = { COLOR_UNSPECIFIED: 0, RED: 1, BLUE: 2 }
const sample = declareMessages({ Sample: sampleSpec }, { Color: colors })('Sample')

const color = fc.constantFrom(0, 1, 2, 99, -1)
const text = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\u2028', '\n\0\u007f', '😀', '__proto__'))
// No characters that JSON escapes: JSON.parse of Node 24 reads the key "\"" as "\\" if the text is not Latin-1.
const key = fc.constantFrom('', 'a', 'clusters', '7', 'é', '😀', '__proto__', 'constructor')
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const { anySample } = fc.letrec<{ anySample: object }>((tie) => ({
  anySample: fc.record(
    {
      text,
      flag: fc.boolean(),
      small: fc.integer(),
      big: int64,
      bigger: uint64,
      fixed: uint64,
      ratio: fc.double(),
      data: fc.uint8Array({ maxLength: 10 }),
      color,
      inner: fc.option(tie('anySample'), { nil: undefined, maxDepth: 2 }),
      maybe: text,
      maybeColor: color,
      texts: fc.array(text, { maxLength: 3 }),
      bigs: fc.array(int64, { maxLength: 3 }),
      colors: fc.array(color, { maxLength: 3 }),
      inners: fc.oneof(
        { maxDepth: 2, depthIdentifier: 'deep' },
        fc.constant([]),
        fc.array(tie('anySample'), { maxLength: 2 }),
      ),
      byText: fc.dictionary(key, fc.integer(), { maxKeys: 3 }),
      byFlag: fc.dictionary(fc.constantFrom('true', 'false'), color),
      byNumber: fc.dictionary(fc.constantFrom('7', '-9'), tie('anySample'), {
        maxKeys: 1,
        depthIdentifier: 'deep',
      }),
      choice: fc.oneof(
        { maxDepth: 2, depthIdentifier: 'deep' },
        fc.constant({ case: undefined }),
        fc.record({ case: fc.constant('oneText'), value: text }, { noNullPrototype: true }),
        fc.record({ case: fc.constant('oneInner'), value: tie('anySample') }, { noNullPrototype: true }),
      ),
    },
    { requiredKeys: ['choice'], noNullPrototype: true },
  ),
}))

describe('the JSON writer', () => {
  test('writes any message as toJson does with alwaysEmitImplicit', () => {
    fc.assert(
      fc.property(anySample, (init) => {
        const message = create(sample, init as MessageInitShape<typeof sample>)
        const expected = toJson(sample, message, { alwaysEmitImplicit: true })
        assert.equal(writeJson(sample, message), JSON.stringify(expected))
      }),
      { numRuns: 400 },
    )
  })

  test('writes JSON that the library reads back to the same message', () => {
    fc.assert(
      fc.property(anySample, (init) => {
        const message = create(sample, init as MessageInitShape<typeof sample>)
        const again = fromJsonString(sample, writeJson(sample, message))
        assert.equal(writeJson(sample, again), writeJson(sample, message))
      }),
      { numRuns: 100 },
    )
  })

  test('writes default values, but not absent messages, and never null', () => {
    assert.deepEqual(written(GroupSchema, {}), {
      uid: '',
      name: '',
      description: '',
      resourceLimits: {},
      verified: false,
    })
    assert.doesNotMatch(writeJson(sample, create(sample)), /null|maybe|one|inner":/)
  })

  test('writes an optional field that is set, even to its default', () => {
    assert.deepEqual(written(ListGroupsResponseSchema, { totalCount: 0n }), {
      groups: [],
      totalCount: '0',
      skipped: 0,
    })
    assert.equal(written(GroupSchema, { kind: OrgKind.UNSPECIFIED }).kind, 'ORG_KIND_UNSPECIFIED')
  })

  test('omits empty fields that the contract marks with omit_empty', () => {
    const page = written(ListGroupsResponseSchema, { nextPageToken: 'more', totalCount: 3n })
    assert.equal(page.nextPageToken, 'more')
    assert.ok(!('nextPageToken' in written(ListGroupsResponseSchema, {})))
    assert.ok(!('capabilities' in written(RoleSchema, {})))
    const spec = (type: string): MessageSpec => ({ field: { type, rules: { omitEmpty: true } } })
    for (const type of ['string', 'bytes', 'int64', 'bool', 'Color']) {
      const desc = declareMessages({ M: spec(type) }, { Color: colors })('M')
      assert.equal(writeJson(desc, create(desc)), '{}', type)
    }
    const map = declareMessages({
      M: { field: { type: 'string', key: 'string', rules: { omitEmpty: true } } },
    })('M')
    assert.equal(writeJson(map, create(map)), '{}')
  })

  test('writes 64-bit numbers as strings and others as numbers', () => {
    const { big, small, ratio } = written(sample, {
      big: -(2n ** 63n),
      small: -1,
      ratio: 1e300,
    })
    assert.deepEqual([big, small, ratio], ['-9223372036854775808', -1, 1e300])
  })

  test('writes NaN and infinities as strings', () => {
    for (const [ratio, name] of [
      [Number.NaN, 'NaN'],
      [Infinity, 'Infinity'],
      [-Infinity, '-Infinity'],
    ] as const) {
      assert.equal(written(sample, { ratio }).ratio, name)
    }
  })

  test('writes bytes as padded base64', () => {
    const { data } = written(sample, { data: new Uint8Array([0xfb, 0xff]) })
    assert.equal(data, '+/8=')
  })

  test('writes enums by name, and unknown values by number', () => {
    const { colors: list } = written(sample, { colors: [0, 1, 99] })
    assert.deepEqual(list, ['COLOR_UNSPECIFIED', 'RED', 99])
  })

  test('writes the member of a oneof that is set', () => {
    const relationship = {
      case: 'claimMatch' as const,
      value: { iss: { case: 'issuer' as const, value: 'https://a.test' } },
    }
    assert.deepEqual(written(IdentitySchema, { relationship }).claimMatch, {
      issuer: 'https://a.test',
    })
  })

  test('keeps map keys that are property names of Object.prototype', () => {
    const message = fromJsonString(sample, '{"byText":{"__proto__":1,"constructor":2,"":3}}')
    assert.match(writeJson(sample, message), /"byText":\{"__proto__":1,"constructor":2,"":3\}/)
  })

  test('escapes quotes, control characters and lone surrogates', () => {
    const desc = declareMessages({ M: { text: 'string' } })('M')
    const json = writeJson(desc, create(desc, { text: '"\ud800\u0000\u2028' }))
    assert.equal(json, '{"text":"\\"\\ud800\\u0000\u2028"}')
  })

  test('throws for well-known types without a writer', () => {
    assert.throws(() => writeJson(FieldMaskSchema, create(FieldMaskSchema)), /no JSON writer/)
  })
})

describe('a timestamp', () => {
  test('always has milliseconds, whatever its nanoseconds', () => {
    const anyDate = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(anyDate, fc.integer({ min: 0, max: 999_999 }), (date, nanos) => {
        const timestamp = timestampFromMs(date.getTime())
        timestamp.nanos += nanos
        assert.equal(writeJson(TimestampSchema, timestamp), JSON.stringify(date.toISOString()))
      }),
    )
    assert.equal(writeJson(TimestampSchema, create(TimestampSchema)), '"1970-01-01T00:00:00.000Z"')
  })
})

describe('a duration', () => {
  test('is written as the library writes it', () => {
    const seconds = fc.bigInt({ min: 0n, max: 315_575_999_999n })
    const nanos = fc.oneof(
      fc.constantFrom(0, 1_000, 1_000_000, 500_000_000),
      fc.integer({ min: 0, max: 999_999_999 }),
    )
    fc.assert(
      fc.property(seconds, nanos, fc.boolean(), (whole, part, isNegative) => {
        const duration = create(
          DurationSchema,
          isNegative ? { seconds: -whole, nanos: -part } : { seconds: whole, nanos: part },
        )
        assert.deepEqual(JSON.parse(writeJson(DurationSchema, duration)), toJson(DurationSchema, duration))
      }),
    )
  })
})

describe('a shape', () => {
  const shape = (
    messages: Record<string, MessageSpec>,
    enums = { Color: colors as Record<string, number> },
  ) => shapeOf(declareMessages(messages, enums)('M'))
  const inner = { text: 'string' }
  const base = { M: { name: 'string', inner: 'Inner', color: 'Color' }, Inner: inner }

  test('is the same while the contract is unchanged', () => {
    assert.equal(shape(base), shape(structuredClone(base)))
    assert.equal(shapeOf(GroupSchema), shapeOf(GroupSchema))
    assert.match(shapeOf(GroupSchema), /^[0-9a-f]{12}$/)
  })

  test('changes if a field is added, or if the name, type, presence or omit_empty of a field changes', () => {
    const others = [
      { ...base.M, more: 'string' },
      { title: 'string', inner: 'Inner', color: 'Color' },
      { ...base.M, name: 'bytes' },
      { ...base.M, name: { type: 'string', optional: true } },
      { ...base.M, name: { type: 'string', rules: { omitEmpty: true } } },
    ]
    const shapes = [base.M, ...others].map((M) => shape({ ...base, M }))
    assert.equal(new Set(shapes).size, shapes.length)
  })

  test('changes when a field becomes input-only or part of a oneof', () => {
    const others = [
      { ...base.M, name: { type: 'string', behaviour: FieldBehavior.INPUT_ONLY } },
      { ...base.M, name: { type: 'string', oneof: 'choice' } },
    ]
    const shapes = [base.M, ...others].map((M) => shape({ ...base, M }))
    assert.equal(new Set(shapes).size, shapes.length)
  })

  test('stays the same if options change that the writer does not read', () => {
    const rules = { maxLength: 3, pattern: '^a', hint: 'must begin with a' }
    const others = [
      { ...base.M, name: { type: 'string', rules } },
      { ...base.M, name: { type: 'string', behaviour: FieldBehavior.REQUIRED } },
    ]
    for (const M of others) assert.equal(shape({ ...base, M }), shape(base))
  })

  test('changes if a nested message at any depth or an enum changes', () => {
    const deep = (text: string) => ({ ...base, Inner: { deeper: 'Deeper' }, Deeper: { [text]: 'string' } })
    assert.notEqual(shape(deep('a')), shape(deep('b')))
    assert.notEqual(shape(base), shape(base, { Color: { ...colors, GREEN: 3 } }))
    assert.notEqual(shape(base), shape(base, { Color: { COLOR_UNSPECIFIED: 0, CRIMSON: 1, BLUE: 2 } }))
    const list = (type: string) => ({ M: { colors: { type, list: true } } })
    assert.notEqual(shape(list('Color')), shape(list('Color'), { Color: { COLOR_UNSPECIFIED: 0 } }))
  })

  test('differs between kinds, and supports recursive messages', () => {
    assert.notEqual(shapeOf(GroupSchema), shapeOf(RoleSchema))
    assert.match(shapeOf(sample), /^[0-9a-f]{12}$/)
  })
})
