// Invalid bodies and headers over REST get the documented error and leave the store unchanged.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DescField } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform, RestCase, RestRequest } from './hostile.ts'
import { assertAllRefused as assertAllRefusedBy, startAttackedPlatform } from './hostile.ts'

const groups = '/iam/v2beta1/groups'
const invalid = Code.INVALID_ARGUMENT
const exhausted = Code.RESOURCE_EXHAUSTED
const emoji = '😀'

onEachStore('hostile REST requests are refused', (engine) => {
  let attacked: AttackedPlatform
  before(async () => {
    attacked = await startAttackedPlatform(engine)
  })
  after(() => attacked.stop())

  const assertAllRefused = (cases: RestCase[]) => assertAllRefusedBy(attacked, cases)
  const post = (body: string | Uint8Array, headers = {}): RestRequest => ({
    verb: 'POST',
    target: `${groups}/${attacked.platform.owner.organization}`,
    body,
    headers,
  })
  const patch = (body: string): RestRequest => ({
    verb: 'PATCH',
    target: `${groups}/${attacked.group}`,
    body,
  })
  describe('in a body', () => {
    test('values of a wrong type for every field', async () => {
      const cases = GroupSchema.fields.flatMap((field) =>
        wrongValues(field).flatMap((value): RestCase[] => {
          const body = JSON.stringify({ name: 'x', [field.jsonName]: value })
          const expected = { field: field.jsonName }
          return [
            [`POST ${body}`, post(body), invalid, expected],
            [`PATCH ${body}`, patch(body), invalid, expected],
          ]
        }),
      )
      assert.ok(cases.length > 50)
      await assertAllRefused(cases)
    })

    test('JSON that is not an object', () =>
      assertAllRefused(
        ['null', 'true', '1', '"name"', '[]', '[{"name":"x"}]'].map((body): RestCase => [body, post(body)]),
      ))

    test('malformed JSON', () =>
      assertAllRefused(
        [
          '{',
          '{"name":}',
          '{"name":"x"',
          "{'name':'x'}",
          '{name:"x"}',
          '{"name":"x",}',
          '{"name":"x"}{}',
          '{"name":"x"} trailing',
          '{"name":"x"}\0',
          'NaN',
          '{"name":"a\nb"}',
          '{"name":"\\x41"}',
          '<name>x</name>',
          '/* hello */ {"name":"x"}',
        ].map((body): RestCase => [body, post(body)]),
      ))

    test('invalid UTF-8', () =>
      assertAllRefused(
        [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe4]].map(
          (bytes): RestCase => {
            const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')])
            return [body.toString('hex'), post(body)]
          },
        ),
      ))

    test('JSON that is 100,000 levels deep', async () => {
      const depth = 100_000
      const deep = ['['.repeat(depth) + ']'.repeat(depth), '{"a":'.repeat(depth) + 1 + '}'.repeat(depth)]
      await assertAllRefused([
        ...deep.flatMap((value): RestCase[] => [
          ['as name', post(`{"name":${value}}`), invalid, { field: 'name' }],
          ['as limits', post(`{"resourceLimits":${value}}`), invalid],
          ['as a time', patch(`{"createTime":${value}}`), invalid, { field: 'createTime' }],
          ['as an unknown key', patch(`{"unknown":${value}}`), invalid, { field: 'unknown' }],
          ['without the required name', post(`{"unknown":${value}}`), invalid, { field: 'name' }],
        ]),
        ['alone', post(deep[0] ?? '')],
        ['unclosed', post('['.repeat(depth))],
      ])
    })

    test('unknown keys in an update without a mask', () =>
      assertAllRefused(
        ['nmae', '__proto__', 'constructor', 'toString', '', 'name\\u0000', '\\ud800', 'a.b', emoji].map(
          (key): RestCase => [key, patch(`{"${key}":"x"}`)],
        ),
      ))

    test('NUL, control characters and lone surrogates', async () => {
      const bad = ['\\u0000', 'a\\u0000b', '\\u0001', '\\u001b[31m', '\\u007f', '\\ud800', 'a\\udc00b']
      await assertAllRefused(
        bad.flatMap((text): RestCase[] => [
          [`name ${text}`, post(`{"name":"${text}"}`), invalid, { field: 'name' }],
          [
            `description ${text}`,
            post(`{"name":"x","description":"${text}"}`),
            invalid,
            { field: 'description' },
          ],
          [
            `changed description ${text}`,
            patch(`{"description":"${text}"}`),
            invalid,
            { field: 'description' },
          ],
        ]),
      )
    })

    test('strings that are too long, counted in characters', async () => {
      const long = {
        name: ['a'.repeat(256), 'a'.repeat(500_000)],
        description: ['a'.repeat(513), emoji.repeat(513)],
      }
      await assertAllRefused(
        Object.entries(long).flatMap(([field, texts]) =>
          texts.flatMap((text): RestCase[] => {
            const body = JSON.stringify({ name: 'x', [field]: text })
            return [
              [`${field} of ${text.length}`, post(body), invalid, { field }],
              [`changed ${field} of ${text.length}`, patch(body), invalid, { field }],
            ]
          }),
        ),
      )
    })

    test('invalid and missing names', () =>
      assertAllRefused(
        ['', 'A', 'ä', emoji, 'a/b', 'a\\n', "a'; drop table groups; --"].flatMap((name): RestCase[] => [
          [name, post(`{"name":"${name}"}`), invalid, { field: 'name' }],
          [name, patch(`{"name":"${name}"}`), invalid, { field: 'name' }],
        ]),
      ))

    test('content types other than JSON', () =>
      assertAllRefused(
        [
          'text/plain',
          'text/html; charset=utf-8',
          'application/xml',
          'application/grpc',
          'multipart/form-data; boundary=x',
          'application/octet-stream',
          'application/jsonp',
          'application/x-www-form-urlencoded',
          'json',
        ].map((type): RestCase => {
          const body = type.endsWith('urlencoded') ? 'name=x' : '{"name":"x"}'
          return [type, post(body, { 'content-type': type }), invalid, { http: 415 }]
        }),
      ))

    test('more than 1 MiB', () =>
      assertAllRefused([
        ['padded', post('{"name":"x"}'.padEnd(1024 * 1024 + 1)), exhausted, { http: 413 }],
        ['10 MB', post(`{"name":"x","description":"${'a'.repeat(1e7)}"}`), exhausted, { http: 413 }],
      ]))
  })

  describe('without a token', () => {
    const mib = 1024 * 1024
    const exchange = (body: string): RestRequest => ({
      verb: 'POST',
      target: '/sts/exchange',
      body,
      headers: { 'content-type': 'application/json', authorization: '' },
    })
    const unknownKeys = (count: number) =>
      `{${Array.from({ length: count }, (_, at) => `"other${at}":1`).join()}}`

    test('bodies over 64 KiB', () =>
      assertAllRefused([
        ['padded', exchange('{}'.padEnd(64 * 1024 + 1)), exhausted, { http: 413 }],
        ['unknown keys', exchange(unknownKeys(60_000)), exhausted, { http: 413 }],
        ['a list', exchange(`{"cap":[${'"",'.repeat(mib / 4)}1]}`), exhausted, { http: 413 }],
        [
          'a form',
          {
            ...exchange('aud=a&'.repeat(20_000)),
            headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: '' },
          },
          exhausted,
          { http: 413 },
        ],
        [
          'a registration',
          { ...exchange('{}'.padEnd(mib)), target: '/auth/v1/register' },
          exhausted,
          { http: 413 },
        ],
      ]))

    test('bodies up to 64 KiB with many unknown keys or elements', async () => {
      await assertAllRefused([
        ['unknown keys', exchange(unknownKeys(4000))],
        ['a list', exchange(`{"cap":[${'"",'.repeat(15_000)}1]}`), invalid, { field: 'cap' }],
      ])
      // 1000 capabilities, the most that the call allows, are read: only the token is missing.
      const caps = JSON.stringify({ cap: Array(1000).fill('a'.repeat(60)) })
      assert.ok(caps.length > 60_000)
      const { body } = await attacked.rest(exchange(caps))
      assert.doesNotMatch(body, /at most/)
    })
  })

  test('a list of 240,000 elements in a body, with the same error as a list that is slightly too long', () =>
    assertAllRefused([
      [
        'questions',
        {
          verb: 'POST',
          target: '/iam/v2beta1/access:batchCheck',
          body: `{"questions":[${'{},'.repeat(240_000)}{}]}`,
        },
        invalid,
        { field: 'questions' },
      ],
    ]))

  test('malformed timeouts in a header', () =>
    assertAllRefused(
      ['soon', '-1S', '1', 'S', '123456789S', '1s', '1.5S', '', ' ', '1S, 2S'].flatMap(
        (timeout): RestCase[] => [
          [timeout, { target: groups, headers: { 'grpc-timeout': timeout } }],
          [timeout, { ...post('{"name":"x"}'), headers: { 'grpc-timeout': timeout } }],
        ],
      ),
    ))
})

/** JSON values that are invalid for a field. */
function wrongValues(field: DescField): unknown[] {
  const text = 'neither a number nor a time'
  switch (field.fieldKind) {
    case 'scalar':
      return field.scalar === ScalarType.BOOL ? ['true', 1, [], {}, text] : [1, true, [], {}, 1.5, ['a']]
    case 'enum':
      return [text, true, [], {}, 1.5]
    case 'map':
      return [text, 1, true, [], { a: text }, { a: 1.5 }, { a: 2 ** 31 }, { a: {} }, { a: null }]
    default:
      return [text, 1, true, [], {}, '2024-13-01T00:00:00Z', '9999999-01-01T00:00:00Z']
  }
}
