// Invalid messages over gRPC get the documented error and leave the store unchanged.
import { after, before, test } from 'node:test'
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, ScalarType, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  CreateGroupRequestSchema,
  GetGroupRequestSchema,
  GroupSchema,
  ListGroupsRequestSchema,
  UpdateGroupRequestSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform } from './hostile.ts'
import { assertRefused, startAttackedPlatform } from './hostile.ts'

const invalid = Code.INVALID_ARGUMENT
const emoji = '😀'

type Case = [label: string, method: string, message: Uint8Array, code?: Code, field?: string]

const message = <D extends DescMessage>(desc: D, init: MessageInitShape<D>) =>
  toBinary(desc, create(desc, init))
const list = (init: MessageInitShape<typeof ListGroupsRequestSchema>) =>
  message(ListGroupsRequestSchema, init)

/** A field with the given bytes, whatever its declared type. */
const field = (number: number, type: WireType, bytes: Uint8Array) =>
  new BinaryWriter().tag(number, type).raw(bytes).finish()
const bytesField = (number: number, bytes: Uint8Array) =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish()
const join = (...parts: Uint8Array[]) => Buffer.concat(parts)

onEachStore('hostile gRPC requests are refused', (engine) => {
  let attacked: AttackedPlatform
  before(async () => {
    attacked = await startAttackedPlatform(engine)
  })
  after(() => attacked.stop())

  async function assertAllRefused(cases: Case[]): Promise<void> {
    for (const [label, method, bytes, code = invalid, violated] of cases) {
      const refusal = await attacked.grpc(method, bytes)
      try {
        assertRefused(refusal, code, violated)
      } catch (error) {
        throw new Error(`${label} got ${JSON.stringify(refusal)}`, { cause: error })
      }
    }
    await attacked.assertUnchanged()
  }

  const inCreate = (group: Uint8Array) =>
    join(bytesField(1, Buffer.from(attacked.platform.owner.organization)), bytesField(2, group))
  const validName = bytesField(2, Buffer.from('x'))

  test('malformed messages', () =>
    assertAllRefused(
      [
        'ff',
        '0a',
        '0aff',
        '0a05616263',
        '08',
        '0fff',
        '00',
        '0b',
        '0c',
        'ffffffffffffffffffff01',
        '0affffffff0f61',
      ].flatMap((hex): Case[] =>
        ['GetGroup', 'ListGroups', 'CreateGroup', 'UpdateGroup', 'DeleteGroup'].map(
          (method): Case => [`${method} ${hex}`, method, Buffer.from(hex, 'hex')],
        ),
      ),
    ))

  test('groups of the wire format that are unterminated or 100,000 levels deep', () =>
    assertAllRefused([
      ['unclosed', 'GetGroup', Buffer.alloc(200_000, Buffer.from([0xf3, 0x01]))],
      ['closed', 'CreateGroup', join(Buffer.alloc(100_000, 0x2b), Buffer.alloc(100_000, 0x2c))],
    ]))

  test('invalid UTF-8 in every string field', () => {
    const bad = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe4]].map((bytes) => Buffer.from(bytes))
    const stringFields = GroupSchema.fields.filter(({ scalar }) => scalar === ScalarType.STRING)
    return assertAllRefused(
      bad.flatMap((bytes): Case[] => [
        ...stringFields.map(
          ({ name, number }): Case => [
            `${name} ${bytes.toString('hex')}`,
            'CreateGroup',
            inCreate(join(validName, bytesField(number, bytes))),
          ],
        ),
        ['uid', 'GetGroup', bytesField(1, bytes)],
        ['name', 'ListGroups', bytesField(2, bytes)],
        ['page_token', 'ListGroups', bytesField(4, bytes)],
        ['order_by', 'ListGroups', bytesField(5, bytes)],
      ]),
    )
  })

  test('fields with a wrong wire type', () =>
    assertAllRefused(
      GroupSchema.fields
        .filter(({ scalar }) => scalar === ScalarType.STRING)
        .map(
          ({ name, number }): Case => [
            name,
            'CreateGroup',
            inCreate(join(validName, field(number, WireType.Bit32, Buffer.from([1, 0, 0, 0])))),
          ],
        ),
    ))

  test('NUL, control characters and strings that are too long', async () => {
    const bad = {
      name: ['\0', 'a\0b', '\x01', '\x7f', 'A', '', emoji, 'a'.repeat(256)],
      description: [
        '\0',
        '\x01',
        '\x1b[31m',
        '\x7f',
        'a'.repeat(513),
        emoji.repeat(513),
        'a'.repeat(4_000_000),
      ],
    }
    await assertAllRefused(
      Object.entries(bad).flatMap(([name, values]) =>
        values.flatMap((value): Case[] => {
          const group = { name: 'x', [name]: value }
          const label = `${name} ${JSON.stringify(value.slice(0, 10))}`
          const parent = attacked.platform.owner.organization
          const changed = { group: { uid: attacked.group, ...group }, updateMask: { paths: [name] } }
          return [
            [label, 'CreateGroup', message(CreateGroupRequestSchema, { parent, group }), invalid, name],
            [`changed ${label}`, 'UpdateGroup', message(UpdateGroupRequestSchema, changed), invalid, name],
          ]
        }),
      ),
    )
  })

  test('numbers out of range, and invalid orders, tokens and uids', () =>
    assertAllRefused([
      ...[-1, -2147483648].flatMap((value): Case[] => [
        [`page_size ${value}`, 'ListGroups', list({ pageSize: value }), invalid, 'page_size'],
        [`skip ${value}`, 'ListGroups', list({ skip: value }), invalid, 'skip'],
      ]),
      ...['nope', 'name sideways', ',', '\0', '(select 1)'].map(
        (orderBy): Case => [orderBy, 'ListGroups', list({ orderBy })],
      ),
      ...['x', '\0', 'A'.repeat(100), 'A'.repeat(100_000)].map(
        (pageToken): Case => [
          pageToken.slice(0, 10),
          'ListGroups',
          list({ pageToken }),
          invalid,
          'page_token',
        ],
      ),
      ...['x', '\0', 'A'.repeat(40), `${'a'.repeat(40)}/`].map(
        (childrenOf): Case => [
          childrenOf,
          'ListGroups',
          list({ uidp: { childrenOf } }),
          invalid,
          'uidp.children_of',
        ],
      ),
      [
        '1001 ids',
        'ListGroups',
        list({ uidp: { ids: Array(1001).fill('a'.repeat(40)) } }),
        invalid,
        'uidp.ids',
      ],
      ['40,000 ids', 'ListGroups', list({ uidp: { ids: Array(40_000).fill('') } }), invalid, 'uidp.ids'],
      [
        'a million ids',
        'ListGroups',
        list({ uidp: { ids: Array(1_000_000).fill('') } }),
        Code.RESOURCE_EXHAUSTED,
      ],
    ]))

  test('invalid masks', () =>
    assertAllRefused(
      [
        ['nope'],
        ['name', 'nope'],
        ['name.x'],
        ['*', 'name'],
        ['\0'],
        Array(1000).fill('name'),
        ['a'.repeat(100_000)],
      ].map(
        (paths): Case => [
          String(paths[0]).slice(0, 10),
          'UpdateGroup',
          message(UpdateGroupRequestSchema, {
            group: { uid: attacked.group, description: 'changed' },
            updateMask: { paths },
          }),
        ],
      ),
    ))

  test('malformed and missing uids', () =>
    assertAllRefused([
      ...[
        'x',
        '\0',
        '..',
        emoji,
        `${'a'.repeat(40)}/`,
        'a'.repeat(40) + '/0123456789abcdef'.repeat(65),
        'a'.repeat(1_000_000),
      ].flatMap((uid): Case[] => [
        [uid.slice(0, 50), 'GetGroup', message(GetGroupRequestSchema, { uid }), Code.NOT_FOUND],
        [uid.slice(0, 50), 'DeleteGroup', message(GetGroupRequestSchema, { uid }), Code.NOT_FOUND],
        [
          uid.slice(0, 50),
          'UpdateGroup',
          message(UpdateGroupRequestSchema, { group: { uid } }),
          Code.NOT_FOUND,
        ],
      ]),
      ['no uid', 'GetGroup', Buffer.of(), invalid, 'uid'],
      ['no group', 'UpdateGroup', Buffer.of(), invalid],
      [
        'no resource',
        'CreateGroup',
        bytesField(1, Buffer.from(attacked.platform.owner.organization)),
        invalid,
      ],
    ]))

  test('a message over 4 MiB', () =>
    assertAllRefused([['5 MiB', 'CreateGroup', Buffer.alloc(5 * 1024 * 1024), Code.RESOURCE_EXHAUSTED]]))

  test('malformed timeouts', async () => {
    for (const timeout of ['soon', '-1S', '1', '123456789S', '1s'])
      assertRefused(await attacked.grpc('ListGroups', Buffer.of(), { 'grpc-timeout': timeout }), invalid)
    await attacked.assertUnchanged()
  })
})
