// Random input never causes an internal error, and every error has the documented form.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  array,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  dictionary,
  jsonValue,
  oneof,
  record,
  string,
  uint8Array,
} from 'fast-check'
import { Code } from '../../server/aip/code.ts'
import { anyCodePoint } from '../../server/testing/arbitraries.ts'
import type { RawResponse } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform } from './hostile.ts'
import { assertRefused, assertRestRefused, restRefusal, startAttackedPlatform } from './hostile.ts'

const groups = '/iam/v2beta1/groups'

/** Random bytes mixed with these fragments. */
const bytesWith = (...fragments: string[]) =>
  array(
    oneof(
      uint8Array({ maxLength: 8 }),
      constantFrom(...fragments).map((fragment) => Buffer.from(fragment)),
    ),
    {
      maxLength: 12,
    },
  ).map((parts) => Buffer.concat(parts))

function assertNo5xx(answer: RawResponse): void {
  if (answer.status < 400) assert.ok(answer.body === '' || JSON.parse(answer.body))
  else assertRestRefused(answer, restRefusal(answer).code, { http: answer.status })
  assert.ok(answer.status < 500, `${answer.status} ${answer.body}`)
}

onEachStore('random input causes no internal error', (engine) => {
  let attacked: AttackedPlatform
  // Fewer on PostgreSQL: nearly all of the input is refused before it reaches the store.
  const runs = { numRuns: engine === 'sqlite' ? 100 : 30 }
  before(async () => {
    attacked = await startAttackedPlatform(engine)
  })
  after(() => attacked.stop())

  const writes = () => [
    { verb: 'POST', target: `${groups}/${attacked.group}` },
    { verb: 'PATCH', target: `${groups}/${attacked.group}` },
    { verb: 'PATCH', target: `${groups}/${attacked.group}?updateMask=name,description` },
  ]

  test('bytes as a body', () =>
    assertProperty(
      asyncProperty(
        bytesWith(
          '{',
          '}',
          '"name"',
          ':',
          '"x"',
          ',',
          '[',
          ']',
          '"description"',
          'null',
          '\\u',
          '1e999',
          '"kind"',
        ),
        constantFrom(0, 1, 2),
        async (body, at) => assertNo5xx(await attacked.rest({ ...(writes()[at] ?? assert.fail()), body })),
      ),
      runs,
    ))

  test('JSON as a body', () =>
    assertProperty(
      asyncProperty(
        record(
          Object.fromEntries(
            [
              'name',
              'description',
              'uid',
              'verified',
              'kind',
              'status',
              'createTime',
              'create_time',
              'resourceLimits',
            ].map((key) => [
              key,
              oneof(jsonValue(), string({ unit: anyCodePoint }), dictionary(string(), jsonValue())),
            ]),
          ),
          { requiredKeys: [] },
        ),
        constantFrom(0, 1, 2),
        async (body, at) =>
          assertNo5xx(
            await attacked.rest({ ...(writes()[at] ?? assert.fail()), body: JSON.stringify(body) }),
          ),
      ),
      runs,
    ))

  test('bytes as a query', () =>
    assertProperty(
      asyncProperty(
        bytesWith(
          'name',
          '=',
          '&',
          'page_size',
          'skip=',
          '%',
          '%00',
          'uidp.',
          'ids',
          'order_by=',
          'desc',
          ';',
          '+',
          '[',
          ']',
          '-1',
          'page_token=',
        ),
        async (query) =>
          assertNo5xx(await attacked.rest({ target: Buffer.concat([Buffer.from(`${groups}?`), query]) })),
      ),
      runs,
    ))

  test('bytes as a path', () =>
    assertProperty(
      asyncProperty(
        bytesWith(
          'iam',
          '/',
          'v2beta1',
          'groups',
          'a'.repeat(40),
          '%2F',
          '%',
          '..',
          ':',
          '?',
          '#',
          'http://',
        ),
        constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PUT'),
        constantFrom('', '/', `${groups}/`),
        async (path, verb, start) =>
          assertNo5xx(await attacked.rest({ verb, target: Buffer.concat([Buffer.from(start), path]) })),
      ),
      runs,
    ))

  test('bytes as a gRPC message', async () => {
    // The group contains another one, so DeleteGroup cannot delete it.
    const created = await attacked.rest({ ...(writes()[0] ?? assert.fail()), body: '{"name":"inner"}' })
    assert.equal(created.status, 200, created.body)
    /** The first field of a message. */
    const field1 = (content: string) => `\x0a${String.fromCharCode(content.length)}${content}`
    const uid = field1(attacked.group)
    // The uid of the group as `uid` or `parent`, as `group.uid`, as `group.uid` with `group.name`, or absent.
    const addresses = [uid, field1(uid), field1(`${uid}\x12\x01x`), '']
    const fields = ['\x12\x03\x12\x01x', '\x12\x06\x0a\x04name', '\x22\x01x', '\x2a\x04name']
    await assertProperty(
      asyncProperty(
        constantFrom('GetGroup', 'ListGroups', 'CreateGroup', 'UpdateGroup', 'DeleteGroup'),
        constantFrom(...addresses).map((address) => Buffer.from(address)),
        oneof(
          array(constantFrom(...fields), { maxLength: 3 }).map((parts) => Buffer.from(parts.join(''))),
          bytesWith(
            '\x0a',
            '\x12',
            '\x1a',
            '\x28',
            field1('a'.repeat(40)),
            '\x08\x01',
            ...addresses,
            ...fields,
          ),
        ),
        async (method, address, rest) => {
          const refusal = await attacked.grpc(method, Buffer.concat([address, rest]))
          if (refusal) assertRefused(refusal, refusal.code)
          const serverErrors: Code[] = [Code.UNKNOWN, Code.INTERNAL, Code.DATA_LOSS]
          assert.ok(!serverErrors.includes(refusal?.code ?? Code.OK), refusal?.message)
        },
      ),
      runs,
    )
  })

  test('the server still answers afterwards', async () => {
    assert.equal((await attacked.rest({ target: groups })).status, 200)
    assert.equal((await attacked.rest({ target: `${groups}/${attacked.group}` })).status, 200)
  })
})
