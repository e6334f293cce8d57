// Tests that bodies are read by the rules of ProtoJSON.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, JsonValue } from '@bufbuild/protobuf'
import { create, toJson } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import fc from 'fast-check'
import { StatusError } from '../../aip/errors.ts'
import { declareMessages } from '../../testing/declared-messages.ts'
import { ignoreAll, readJson } from './read-json.ts'

const sample = declareMessages(
  {
    Sample: {
      text: 'string',
      flag: 'bool',
      small: 'int32',
      unsigned: 'uint32',
      big: 'int64',
      bigger: 'uint64',
      ratio: 'double',
      data: 'bytes',
      color: 'Color',
      maybe: { type: 'string', optional: true },
      texts: { type: 'string', list: true },
      bigs: { type: 'int64', list: true },
      colors: { type: 'Color', list: true },
      inners: { type: 'Sample', list: true },
      labels: { type: 'string', key: 'string' },
      by_number: { type: 'Sample', key: 'int64' },
      by_flag: { type: 'Sample', key: 'bool' },
      by_text: { type: 'Sample', key: 'string' },
      color_of: { type: 'Color', key: 'string' },
      few_texts: { type: 'string', list: true, rules: { maxItems: 2 } },
      few_inners: { type: 'Sample', list: true, rules: { maxItems: 2 } },
      some_time: 'google.protobuf.Timestamp',
      some_span: 'google.protobuf.Duration',
      some_mask: 'google.protobuf.FieldMask',
      inner: 'Sample',
      one_text: { type: 'string', oneof: 'choice' },
      one_inner: { type: 'Sample', oneof: 'choice' },
    },
  },
  { Color: { COLOR_UNSPECIFIED: 0, RED: 1, BLUE: 5 } },
)('Sample')

/** The message that is read from a JSON text, as JSON again, and the paths that were reported. */
function readAll(text: string, desc: DescMessage = sample) {
  const message = reflect(desc, create(desc))
  const paths: string[] = []
  const unknown: string[] = []
  readJson(message, JSON.parse(text), {
    ...ignoreAll,
    onPath: (path) => paths.push(path),
    onUnknown: (path) => unknown.push(path),
  })
  return { json: toJson(desc, message.message), paths, unknown }
}

const read = (json: JsonValue) => readAll(JSON.stringify(json)).json

function assertRejected(json: JsonValue | { raw: string }, field: string, description = /./): void {
  const text =
    typeof json === 'object' && json !== null && 'raw' in json ? String(json.raw) : JSON.stringify(json)
  assert.throws(
    () => readAll(text),
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
    text,
  )
}

describe('a key', () => {
  test('is accepted in both spellings', () => {
    const someTime = '2026-01-01T00:00:00Z'
    assert.deepEqual(read({ someTime }), { someTime })
    assert.deepEqual(read({ some_time: someTime }), { someTime })
    assert.deepEqual(readAll('{"claim_match":{"issuer":"a"}}', IdentitySchema).json, {
      claimMatch: { issuer: 'a' },
    })
  })

  test('that appears twice has its last value, in either spelling', () => {
    assert.deepEqual(readAll('{"text":"a","text":"b"}').json, { text: 'b' })
    assert.deepEqual(readAll('{"some_span":"1s","someSpan":"2s"}').json, { someSpan: '2s' })
    assert.deepEqual(readAll('{"by_text":{"a":{}},"byText":{"b":{}}}').json, { byText: { b: {} } })
    assert.deepEqual(readAll('{"some_span":"1s","someSpan":null}').json, {})
    assert.deepEqual(readAll('{"one_inner":{"text":"a"},"oneInner":{"small":1}}').json, {
      oneInner: { small: 1 },
    })
    const list = declareMessages({ M: { all_texts: { type: 'string', list: true } } })('M')
    assert.deepEqual(readAll('{"all_texts":["a"],"allTexts":["b"]}', list).json, { allTexts: ['b'] })
  })

  test('that is not a field is skipped and reported, at any depth', () => {
    const { json, unknown, paths } = readAll(
      '{"text":"a","nme":1,"inner":{"x_y":{}},"inners":[{"z":null}],"byText":{"k":{"w":1}}}',
    )
    assert.deepEqual(json, { text: 'a', inner: {}, inners: [{}], byText: { k: {} } })
    assert.deepEqual(unknown, ['nme', 'inner.x_y', 'inners[0].z', 'by_text[k].w'])
    assert.deepEqual(paths, ['text', 'inners', 'by_text'])
  })

  test('that is a name of Object.prototype is an ordinary key', () => {
    const hostile =
      '{"__proto__":{"text":"x"},"constructor":{"prototype":1},"toString":1,"hasOwnProperty":null,"$typeName":"x"}'
    const { json, unknown } = readAll(hostile)
    assert.deepEqual(json, {})
    assert.deepEqual(unknown, ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '$typeName'])
    assert.equal(
      JSON.stringify(readAll('{"labels":{"__proto__":"a","constructor":"b"}}').json),
      '{"labels":{"__proto__":"a","constructor":"b"}}',
    )
    assert.equal(
      JSON.stringify(readAll('{"byText":{"__proto__":{"text":"a"}}}').json),
      '{"byText":{"__proto__":{"text":"a"}}}',
    )
    assert.equal(({} as { text?: string }).text, undefined)
  })

  test('that is not a field is reported shortened and in well-formed Unicode', () => {
    const { unknown } = readAll(`{"${'x'.repeat(100_000)}":1,"\\ud800":1}`)
    assert.deepEqual(
      unknown.map(({ length }) => length),
      [100, 1],
    )
    for (const key of unknown) assert.ok(key.isWellFormed())
  })
})

describe('null', () => {
  test('counts as absent, but its path is reported', () => {
    const { json, paths } = readAll(
      '{"text":null,"small":null,"inner":null,"texts":null,"labels":null,"oneText":null,"someTime":null,"color":null}',
    )
    assert.deepEqual(json, {})
    assert.deepEqual(paths, ['text', 'small', 'inner', 'texts', 'labels', 'one_text', 'some_time', 'color'])
  })

  test('does not clear the other member of a oneof', () => {
    assert.deepEqual(read({ oneText: 'a', oneInner: null }), { oneText: 'a' })
    assert.deepEqual(read({ oneInner: null, oneText: 'a' }), { oneText: 'a' })
  })

  test('is rejected in lists and maps', () => {
    assertRejected({ texts: ['a', null] }, 'texts[1]', /^must be a string, not null$/)
    assertRejected({ colors: [null] }, 'colors[0]')
    assertRejected({ labels: { a: null } }, 'labels')
    assertRejected({ inners: [{}, null] }, 'inners[1]', /^must be a JSON object, not null$/)
    assertRejected({ byText: { a: null } }, 'by_text[a]', /not null/)
  })
})

describe('an object', () => {
  test('is reported as the paths of its leaves; lists, maps, times and empty objects are leaves', () => {
    const { paths } = readAll(
      '{"text":"","inner":{"text":"a","inner":{},"labels":{}},"texts":[],"labels":{"a":"b"},"someTime":"2026-01-01T00:00:00Z","oneInner":{"small":0}}',
    )
    assert.deepEqual(paths, [
      'text',
      'inner.text',
      'inner.inner',
      'inner.labels',
      'texts',
      'labels',
      'some_time',
      'one_inner.small',
    ])
  })

  test('is required for the body and for every message in it', () => {
    for (const body of [null, [], 'x', 1, true]) assertRejected(body, 'body', /^must be a JSON object/)
    assertRejected({ inner: 'x' }, 'inner', /^must be a JSON object, not "x"$/)
    assertRejected({ inner: { inner: [] } }, 'inner.inner', /not an array/)
    assertRejected({ inners: {} }, 'inners', /^must be a JSON array, not an object$/)
    assertRejected({ inners: [1] }, 'inners[0]', /not 1$/)
    assertRejected({ byText: [] }, 'by_text', /^must be a JSON object, not an array$/)
  })

  test('may nest fifty messages', () => {
    const nested = (depth: number) => `${'{"inner":'.repeat(depth)}{"text":"a"}${'}'.repeat(depth)}`
    assert.doesNotThrow(() => readAll(nested(50)))
    assertRejected({ raw: nested(51) }, Array(51).fill('inner').join('.'), /nested too deeply/)
    assert.throws(() => readAll(nested(10_000)), StatusError)
    const inList = `${'{"inners":['.repeat(60)}{}${']}'.repeat(60)}`
    assert.throws(() => readAll(inList), /nested too deeply/)
  })

  test('may nest without limit under a key that is not a field', () => {
    const depth = 200_000
    const { unknown } = readAll(`{"nothing":${'['.repeat(depth)}${']'.repeat(depth)}}`)
    assert.deepEqual(unknown, ['nothing'])
    assertRejected(
      { raw: `{"text":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}` },
      'text',
      /not an object$/,
    )
  })
})

describe('a list', () => {
  test('that is longer than its rule allows is read up to the first element that is too many', () => {
    assert.deepEqual(read({ fewTexts: ['a', 'b', 'c', 'd', 1] }), { fewTexts: ['a', 'b', 'c'] })
    assert.deepEqual(read({ fewInners: [{}, {}, {}, {}, 1] }), { fewInners: [{}, {}, {}] })
    assertRejected({ fewTexts: ['a', 'b', 1] }, 'few_texts[2]')
    assertRejected({ fewInners: [{}, {}, 1] }, 'few_inners[2]')
  })

  test('without a rule has at most 10,000 entries, and so has a map', () => {
    const object = (count: number, value: JsonValue) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at), value]))
    const messages = (count: number) => ({
      texts: Array(count).fill(''),
      inners: Array(count).fill({}),
      labels: object(count, ''),
      byNumber: object(count, {}),
    })
    for (const [name, value] of Object.entries(messages(10_000))) assert.ok(read({ [name]: value }))
    for (const [name, value] of Object.entries(messages(10_001)))
      assertRejected({ [name]: value }, name.replace('N', '_n'), /^must have at most 10000 entries$/)
  })
})

describe('a oneof', () => {
  test('accepts only one of its members', () => {
    assertRejected(
      { oneText: 'a', oneInner: {} },
      'one_inner',
      /^cannot be set together with one_text; set one of them$/,
    )
  })
})

describe('a value', () => {
  test('of a string field is a string of any length, in well-formed Unicode', () => {
    assert.deepEqual(read({ text: '\0 😀 \u2028' }), { text: '\0 😀 \u2028' })
    for (const text of [1, true, [], {}, ['a']]) assertRejected({ text }, 'text', /^must be a string, not /)
    assertRejected({ raw: '{"text":"\\ud800"}' }, 'text', /^must be well-formed Unicode/)
    assertRejected({ raw: '{"texts":["a","x\\udc00"]}' }, 'texts[1]', /^must be well-formed Unicode/)
    assertRejected({ raw: '{"labels":{"\\ud800":"a"}}' }, 'labels', /^must be well-formed Unicode/)
    assertRejected({ raw: '{"byText":{"\\ud800":{}}}' }, 'by_text[\ufffd]', /^must be well-formed Unicode/)
  })

  test('of a bool field is true or false', () => {
    assert.deepEqual(read({ flag: true }), { flag: true })
    for (const flag of ['true', 1, 0, '', []])
      assertRejected({ flag }, 'flag', /^must be true or false, not /)
  })

  test('of an integer field is a whole number, or a string that contains one', () => {
    for (const raw of ['100', '1.0e2', '100.0', '1e2', '"100"', '"1e2"', '"100.0"']) {
      assert.deepEqual(
        readAll(`{"small":${raw},"big":${raw},"bigs":[${raw}]}`).json,
        { small: 100, big: '100', bigs: ['100'] },
        raw,
      )
    }
    for (const raw of [
      '1.5',
      '"1.5"',
      '1e400',
      '-1e400',
      '1e-1',
      '""',
      '" 1"',
      '"1 "',
      '"0x10"',
      '"0b1"',
      '"ten"',
      'true',
      '[]',
      '{}',
      `"${'9'.repeat(100_000)}"`,
    ]) {
      for (const key of ['small', 'big'])
        assertRejected({ raw: `{"${key}":${raw}}` }, key, /^must be a whole number in range, not /)
    }
    assertRejected({ small: 2147483648 }, 'small')
    assertRejected({ unsigned: -1 }, 'unsigned')
    assertRejected({ bigger: '-1' }, 'bigger')
    assertRejected({ bigs: ['1', '1.5'] }, 'bigs[1]')
  })

  test('of a 64-bit field keeps all digits if it is a string, and is rejected if it is a number too large to be exact', () => {
    assert.deepEqual(read({ big: '9223372036854775807' }), { big: '9223372036854775807' })
    assert.deepEqual(read({ bigger: '18446744073709551615' }), { bigger: '18446744073709551615' })
    assert.deepEqual(read({ big: Number.MAX_SAFE_INTEGER }), { big: String(Number.MAX_SAFE_INTEGER) })
    assertRejected({ raw: '{"big":9007199254740993}' }, 'big')
    assertRejected({ big: '9223372036854775808' }, 'big')
  })

  test('of a float field is a number, a string that contains one, or a name such as -Infinity', () => {
    assert.deepEqual(read({ ratio: '1.5' }), { ratio: 1.5 })
    assert.deepEqual(read({ ratio: '-Infinity' }), { ratio: '-Infinity' })
    assertRejected({ raw: '{"ratio":1e400}' }, 'ratio', /not Infinity$/)
  })

  test('of an enum field is the name or the number of one of its values', () => {
    assert.deepEqual(read({ color: 'BLUE', colors: [0, 'RED', 5] }), {
      color: 'BLUE',
      colors: ['COLOR_UNSPECIFIED', 'RED', 'BLUE'],
    })
    assert.deepEqual(read({ colorOf: { a: 1 } }), { colorOf: { a: 'RED' } })
    for (const color of ['blue', 'GREEN', '5', '', 2, -1, 1.5, true, {}, '__proto__']) {
      assertRejected({ color }, 'color', /^must be one of COLOR_UNSPECIFIED, RED, BLUE, not /)
    }
    assertRejected(
      { colors: ['RED', 2] },
      'colors[1]',
      /^must be one of COLOR_UNSPECIFIED, RED, BLUE, not 2$/,
    )
    assertRejected({ colorOf: { a: 99 } }, 'color_of')
    assert.throws(
      () => readAll('{"capabilities":[103,1601]}', RoleSchema),
      /must be one of UNKNOWN, .*, … \(\d+ in all\), not 1601/,
    )
  })

  test('of a bytes field is base64 in any variant', () => {
    for (const data of ['+/8=', '-_8=', '+/8', '-_8']) assert.deepEqual(read({ data }), { data: '+/8=' })
    for (const data of ['!', 'a', 1, []]) assertRejected({ data }, 'data', /^must be base64 text, not /)
  })

  test('of a timestamp field has a UTC offset', () => {
    assert.deepEqual(read({ someTime: '2026-01-01T02:00:00.123456789+02:00' }), {
      someTime: '2026-01-01T00:00:00.123456789Z',
    })
    for (const someTime of [
      '2026-01-01T00:00:00',
      '0000-01-01T00:00:00Z',
      'now',
      '',
      0,
      {},
      '2026-01-01T00:00:00.1234567890Z',
    ]) {
      assertRejected({ someTime }, 'some_time', /^must be a Timestamp in its JSON form, not /)
    }
  })

  test('of a duration field is a number of seconds', () => {
    assert.deepEqual(read({ someSpan: '5400s' }), { someSpan: '5400s' })
    assert.deepEqual(read({ someSpan: '-0.5s' }), { someSpan: '-0.500s' })
    for (const someSpan of ['1h30m', '5400', '1sx', '1.0000000001s', '315576000001s', 's', '', 1]) {
      assertRejected({ someSpan }, 'some_span', /Duration/)
    }
  })

  test('of a mask field keeps the spelling of its paths', () => {
    const message = reflect(sample, create(sample))
    readJson(message, { someMask: 'some_time,someSpan' })
    const { someMask } = message.message as unknown as { someMask: { paths: string[] } }
    assert.deepEqual(someMask.paths, ['some_time', 'someSpan'])
    assertRejected({ someMask: ['text'] }, 'some_mask')
  })

  test('of a map field has keys of the right type', () => {
    assert.deepEqual(read({ byNumber: { '7': { text: 'a' }, '-9223372036854775808': {} } }), {
      byNumber: { '7': { text: 'a' }, '-9223372036854775808': {} },
    })
    assert.deepEqual(read({ byFlag: { true: { small: 1 } } }), { byFlag: { true: { small: 1 } } })
    assertRejected({ byNumber: { x: {} } }, 'by_number[x]', /^must have a whole number in range as its key$/)
    assertRejected({ byNumber: { '1.5': {} } }, 'by_number[1.5]')
    assertRejected({ byFlag: { yes: {} } }, 'by_flag[yes]')
    assertRejected({ byNumber: { '7': { small: 'x' } } }, 'by_number[7].small')
    assertRejected({ labels: { a: 1 } }, 'labels')
  })

  test('is shortened in the error', () => {
    assertRejected({ small: 'x'.repeat(100_000) }, 'small', /^.{1,100}$/)
    assertRejected({ small: '😀'.repeat(100) }, 'small', /^.{1,100}$/u)
    assertRejected({ byNumber: { ['x'.repeat(100_000)]: {} } }, `by_number[${'x'.repeat(100)}]`)
  })
})

test('any JSON is either read or rejected with a StatusError', () => {
  const names = sample.fields.flatMap(({ name, jsonName }) => [name, jsonName])
  const leaf = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('RED', '1', 'AA==', '1s', 1e21, -0, '\ud800', '__proto__'),
  )
  const { body } = fc.letrec<{ body: JsonValue }>((tie) => ({
    body: fc.dictionary(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: fc.string() }),
      fc.oneof(
        { maxDepth: 3 },
        leaf as fc.Arbitrary<JsonValue>,
        tie('body'),
        fc.array(tie('body'), { maxLength: 2 }),
      ),
      { maxKeys: 3 },
    ),
  }))
  fc.assert(
    fc.property(body, (json) => {
      try {
        readJson(reflect(sample, create(sample)), json)
      } catch (error) {
        assert.ok(error instanceof StatusError && error.http === 400, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

test('reports a key in proto spelling only if the JSON name differs, and never a key in camelCase', () => {
  const isReported = (text: string, desc: DescMessage) => {
    let reports = 0
    const options = { ...ignoreAll, onProtoName: () => void reports++ }
    readJson(reflect(desc, create(desc)), JSON.parse(text), options)
    return reports > 0
  }
  assert.equal(isReported('{"claim_match":{}}', IdentitySchema), true)
  assert.equal(isReported('{"claimMatch":{}}', IdentitySchema), false)
  for (const name of ['syncConfig', 'sync_config'])
    assert.equal(isReported(`{"${name}":{}}`, RepoSchema), false, name)
  assert.equal(isReported('{"legacy_advisory_id":"a"}', AdvisorySchema), true)
  for (const name of ['legacyAdvisoryId', 'legacyAdvisoryID'])
    assert.equal(isReported(`{"${name}":"a"}`, AdvisorySchema), false, name)
})
