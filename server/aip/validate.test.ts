import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { create, fromJson } from '@bufbuild/protobuf'
import { FieldBehavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import {
  CreateGroupRequestSchema,
  GroupSchema,
  ListGroupsRequestSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import fc from 'fast-check'
import { anyUid } from '../testing/arbitraries.ts'
import type { FieldSpec } from '../testing/declared-messages.ts'
import { declareMessages } from '../testing/declared-messages.ts'
import { violationsOf } from './validate.ts'

const groupFaults = (init: MessageInitShape<typeof GroupSchema>) =>
  violationsOf(GroupSchema, create(GroupSchema, init))
const listFaults = (json: JsonObject) =>
  violationsOf(ListGroupsRequestSchema, fromJson(ListGroupsRequestSchema, json))
const namePattern = '"^[a-z0-9 ._-]{1,}$"'

describe('the name of a group', () => {
  test('contains only lower-case letters, digits, spaces, dots, underscores and dashes', () => {
    for (const name of ['a', 'team-a', 'a b', '0._-', ' ', 'a'.repeat(255)])
      assert.deepEqual(groupFaults({ name }), [])
    for (const name of ['A', 'é', 'a/b', 'a\n', '\na', 'a\tb', '😀', 'a\u007f', 'a\u00a0b']) {
      assert.deepEqual(
        groupFaults({ name }),
        [{ field: 'name', description: `must match ${namePattern}` }],
        name,
      )
    }
  })

  test('is required', () => {
    const missing = [{ field: 'name', description: `is required and must match ${namePattern}` }]
    assert.deepEqual(groupFaults({}), missing)
    assert.deepEqual(groupFaults({ name: '' }), missing)
  })

  test('is valid exactly if it matches the pattern', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 20 }), (name) => {
        assert.equal(groupFaults({ name }).length === 0, /^[a-z0-9 ._-]{1,}$/.test(name))
      }),
    )
  })

  test('is at most 255 characters long', () => {
    assert.deepEqual(groupFaults({ name: 'a'.repeat(256) }), [
      { field: 'name', description: 'must be at most 255 characters long' },
    ])
  })
})

describe('a description', () => {
  const kinds: DescMessage[] = [GroupSchema, IdentitySchema, RoleSchema]
  const faults = (description: string) =>
    kinds.map((desc) => violationsOf(desc, create(desc, { name: 'a', description })))

  test('may be any text on several lines, as Unix and Windows write them', () => {
    for (const description of [
      '',
      'a',
      'tab\tand\nnewline',
      'pasted\r\nfrom\r\nWindows',
      '日本語 😀',
      '"<>&\\',
    ]) {
      assert.deepEqual(faults(description), [[], [], []], JSON.stringify(description))
    }
  })

  test('holds no other control characters, and says so in words', () => {
    const hint = 'must not hold control characters other than tab and line breaks'
    for (const description of [
      '\u0001',
      'a\u001b[31m',
      'x\u007f',
      'lone\rreturn',
      '\r',
      '\r\r\n',
      'a\u000b',
    ]) {
      for (const found of faults(description)) {
        assert.deepEqual(found, [{ field: 'description', description: hint }], JSON.stringify(description))
      }
    }
  })

  test('is at most 512 characters long, counted as people do', () => {
    assert.deepEqual(faults('😀'.repeat(512)), [[], [], []])
    for (const description of ['😀'.repeat(513), 'a'.repeat(513), 'a'.repeat(4_000_000)]) {
      for (const found of faults(description)) {
        assert.deepEqual(found, [
          { field: 'description', description: 'must be at most 512 characters long' },
        ])
      }
    }
  })
})

describe('any text', () => {
  test('is refused where no store can keep it, whether or not it has rules', () => {
    const nul = 'must not hold a NUL character'
    const surrogate = 'must be well-formed Unicode; it holds a lone surrogate'
    for (const [bad, description] of [
      ['a\0b', nul],
      ['\ud800', surrogate],
      ['\udc00x', surrogate],
    ] as const) {
      const request = create(ListGroupsRequestSchema, {
        name: bad,
        orderBy: bad,
        uidp: { ids: ['', bad], childrenOf: bad },
      })
      assert.deepEqual(violationsOf(ListGroupsRequestSchema, request), [
        { field: 'uidp.children_of', description },
        { field: 'uidp.ids[1]', description },
        { field: 'name', description },
        { field: 'order_by', description },
      ])
    }
  })

  test('is ignored in output-only fields, which nobody reads', () => {
    assert.deepEqual(groupFaults({ name: 'a', uid: '\0' }), [])
  })
})

describe('a uid in a request', () => {
  test('must be one, or nothing', () => {
    fc.assert(
      fc.property(anyUid(), (uid) => assert.deepEqual(listFaults({ uidp: { descendantsOf: uid } }), [])),
    )
    assert.deepEqual(listFaults({ uidp: { descendantsOf: '' } }), [])
    for (const uid of ['x', '/', 'a'.repeat(39), `${'a'.repeat(40)}/`, 'A'.repeat(40)]) {
      const [fault] = listFaults({ uidp: { descendantsOf: uid } })
      assert.equal(fault?.field, 'uidp.descendants_of')
      assert.match(fault.description, /^must be a uid/)
    }
  })

  test('is checked in lists too, which have their length', () => {
    const uid = 'a'.repeat(40)
    assert.deepEqual(listFaults({ uidp: { ids: Array(1000).fill(uid) } }), [])
    assert.deepEqual(listFaults({ uidp: { ids: Array(1001).fill(uid) } }), [
      { field: 'uidp.ids', description: 'must hold at most 1000 entries' },
    ])
    assert.equal(listFaults({ uidp: { ids: [uid, 'x'] } })[0]?.field, 'uidp.ids[1]')
  })
})

describe('a number', () => {
  test('is not negative where the contract says so', () => {
    assert.deepEqual(listFaults({ pageSize: 0, skip: 5 }), [])
    assert.deepEqual(listFaults({ pageSize: -1, skip: -2147483648 }), [
      { field: 'page_size', description: 'must not be negative' },
      { field: 'skip', description: 'must not be negative' },
    ])
  })
})

describe('a check of a request', () => {
  test('goes into the messages it holds, unless one is checked elsewhere', () => {
    const [, resource] = CreateGroupRequestSchema.fields
    const request = create(CreateGroupRequestSchema, { group: { name: 'A' } })
    assert.equal(violationsOf(CreateGroupRequestSchema, request)[0]?.field, 'group.name')
    assert.deepEqual(violationsOf(CreateGroupRequestSchema, request, resource), [])
    assert.deepEqual(violationsOf(CreateGroupRequestSchema, create(CreateGroupRequestSchema)), [
      { field: 'group', description: 'is required' },
    ])
  })

  test('stops telling after twenty faults', () => {
    assert.equal(listFaults({ uidp: { ids: Array(1000).fill('x') } }).length, 20)
  })
})

/** The faults of a message with one field. */
function faultsOf(field: FieldSpec, value: unknown): { field: string; description: string }[] {
  const desc = declareMessages({
    M: { field, other: 'string' },
    Inner: { name: { type: 'string', rules: { pattern: 'a+' } } },
  })('M')
  return violationsOf(desc, create(desc, value === undefined ? {} : { field: value }))
}

describe('a rule', () => {
  test('holds for the whole value, whether or not its pattern is anchored', () => {
    const rules = { pattern: 'a|b' }
    assert.deepEqual(faultsOf({ type: 'string', rules }, 'a'), [])
    assert.equal(faultsOf({ type: 'string', rules }, 'xa').length, 1)
    assert.equal(faultsOf({ type: 'string', rules }, 'a\n').length, 1)
  })

  test('speaks by its hint where it has one', () => {
    const rules = { pattern: 'a+', hint: 'must be as' }
    const field = { type: 'string', rules, behaviour: FieldBehavior.REQUIRED }
    assert.deepEqual(faultsOf(field, 'b'), [{ field: 'field', description: 'must be as' }])
    assert.deepEqual(faultsOf(field, ''), [{ field: 'field', description: 'is required and must be as' }])
  })

  test('holds for an optional value that is set to nothing, but not for one that is not set', () => {
    const field = { type: 'string', optional: true, rules: { pattern: 'a+' } }
    assert.equal(faultsOf(field, '').length, 1)
    assert.deepEqual(faultsOf(field, undefined), [])
  })

  test('wants something in a required list, map, message and number', () => {
    const behaviour = FieldBehavior.REQUIRED
    const missing = [{ field: 'field', description: 'is required' }]
    assert.deepEqual(faultsOf({ type: 'string', list: true, behaviour }, []), missing)
    assert.deepEqual(faultsOf({ type: 'string', key: 'string', behaviour }, {}), missing)
    assert.deepEqual(faultsOf({ type: 'Inner', behaviour }, undefined), missing)
    assert.deepEqual(faultsOf({ type: 'int64', behaviour }, 0n), missing)
    assert.deepEqual(faultsOf({ type: 'int64', behaviour }, 1n), [])
  })

  test('holds for each element of a list and each key and value of a map', () => {
    const inner = { name: 'b' }
    const description = 'must match "a+"'
    assert.deepEqual(faultsOf({ type: 'Inner', list: true }, [{ name: 'a' }, inner]), [
      { field: 'field[1].name', description },
    ])
    assert.deepEqual(faultsOf({ type: 'Inner', key: 'int64' }, { 7: inner }), [
      { field: 'field[7].name', description },
    ])
    assert.deepEqual(
      faultsOf({ type: 'string', key: 'string', rules: { pattern: 'a+' } }, { a: 'a', b: 'c' }),
      [
        { field: 'field[b]', description: `the key ${description}` },
        { field: 'field[b]', description },
      ],
    )
    assert.deepEqual(faultsOf({ type: 'string', key: 'string', rules: { maxItems: 1 } }, { a: '', b: '' }), [
      { field: 'field', description: 'must hold at most 1 entries' },
    ])
    const [hostile] = faultsOf({ type: 'string', key: 'string' }, { [`${'x'.repeat(1000)}\ud800`]: '' })
    assert.ok(hostile && hostile.field.length < 200 && hostile.field.isWellFormed())
  })

  test('keeps numbers of any size from being negative', () => {
    const rules = { nonNegative: true }
    assert.equal(faultsOf({ type: 'int64', rules }, -(2n ** 63n)).length, 1)
    assert.deepEqual(faultsOf({ type: 'int64', rules }, 2n ** 63n - 1n), [])
    assert.equal(faultsOf({ type: 'double', rules }, -1e-300).length, 1)
  })

  test('refuses times that JSON cannot write', () => {
    const out = [{ field: 'field', description: 'is out of range' }]
    assert.deepEqual(faultsOf({ type: 'google.protobuf.Timestamp' }, { seconds: 2n ** 62n }), out)
    assert.deepEqual(faultsOf({ type: 'google.protobuf.Timestamp' }, { seconds: 1n }), [])
    assert.deepEqual(faultsOf({ type: 'google.protobuf.Duration' }, { seconds: 1n, nanos: -1 }), out)
    const list = faultsOf({ type: 'google.protobuf.Timestamp', list: true }, [{}, { nanos: -1 }])
    assert.deepEqual(list, [{ field: 'field[1]', description: 'is out of range' }])
  })
})
