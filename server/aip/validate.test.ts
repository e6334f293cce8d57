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

const groupViolations = (init: MessageInitShape<typeof GroupSchema>) =>
  violationsOf(GroupSchema, create(GroupSchema, init))
const listViolations = (json: JsonObject) =>
  violationsOf(ListGroupsRequestSchema, fromJson(ListGroupsRequestSchema, json))
const namePattern = '"^[a-z0-9 ._-]{1,}$"'

describe('the name of a group', () => {
  test('contains only lower-case letters, digits, spaces, dots, underscores and dashes', () => {
    for (const name of ['a', 'team-a', 'a b', '0._-', ' ', 'a'.repeat(255)])
      assert.deepEqual(groupViolations({ name }), [])
    for (const name of ['A', 'é', 'a/b', 'a\n', '\na', 'a\tb', '😀', 'a\u007f', 'a\u00a0b']) {
      assert.deepEqual(
        groupViolations({ name }),
        [{ field: 'name', description: `must match ${namePattern}` }],
        name,
      )
    }
  })

  test('is required', () => {
    const missing = [{ field: 'name', description: `is required and must match ${namePattern}` }]
    assert.deepEqual(groupViolations({}), missing)
    assert.deepEqual(groupViolations({ name: '' }), missing)
  })

  test('is valid exactly if it matches the pattern', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 20 }), (name) => {
        assert.equal(groupViolations({ name }).length === 0, /^[a-z0-9 ._-]{1,}$/.test(name))
      }),
    )
  })

  test('is at most 255 characters long', () => {
    assert.deepEqual(groupViolations({ name: 'a'.repeat(256) }), [
      { field: 'name', description: 'must be at most 255 characters long' },
    ])
  })
})

describe('a description', () => {
  const kinds: DescMessage[] = [GroupSchema, IdentitySchema, RoleSchema]
  const violationsByKind = (description: string) =>
    kinds.map((desc) => violationsOf(desc, create(desc, { name: 'a', description })))

  test('may have several lines, with Unix or Windows line breaks', () => {
    for (const description of [
      '',
      'a',
      'tab\tand\nnewline',
      'pasted\r\nfrom\r\nWindows',
      '日本語 😀',
      '"<>&\\',
    ]) {
      assert.deepEqual(violationsByKind(description), [[], [], []], JSON.stringify(description))
    }
  })

  test('contains no other control characters', () => {
    const hint = 'must not contain control characters other than tab and line breaks'
    for (const description of [
      '\u0001',
      'a\u001b[31m',
      'x\u007f',
      'a\u009b31m',
      'lone\rreturn',
      '\r',
      '\r\r\n',
      'a\u000b',
    ]) {
      for (const violations of violationsByKind(description)) {
        const expected = [{ field: 'description', description: hint }]
        assert.deepEqual(violations, expected, JSON.stringify(description))
      }
    }
  })

  test('is at most 512 characters long, counted as code points', () => {
    assert.deepEqual(violationsByKind('😀'.repeat(512)), [[], [], []])
    for (const description of ['😀'.repeat(513), 'a'.repeat(513), 'a'.repeat(4_000_000)]) {
      for (const violations of violationsByKind(description)) {
        assert.deepEqual(violations, [
          { field: 'description', description: 'must be at most 512 characters long' },
        ])
      }
    }
  })
})

describe('any string', () => {
  test('is rejected if it cannot be stored, even if its field has no rules', () => {
    const nul = 'must not contain a NUL character'
    const surrogate = 'must be well-formed Unicode; it contains a lone surrogate'
    for (const [bad, description] of [
      ['a\0b', nul],
      ['\ud800', surrogate],
      ['\udc00x', surrogate],
    ] as const) {
      const request = create(ListGroupsRequestSchema, {
        name: bad,
        orderBy: bad,
        uidp: { ids: ['a'.repeat(40), bad], childrenOf: bad },
      })
      assert.deepEqual(violationsOf(ListGroupsRequestSchema, request), [
        { field: 'uidp.children_of', description },
        { field: 'uidp.ids[1]', description },
        { field: 'name', description },
        { field: 'order_by', description },
      ])
    }
  })

  test('is ignored in output-only fields', () => {
    assert.deepEqual(groupViolations({ name: 'a', uid: '\0' }), [])
  })
})

describe('a uid in a request', () => {
  test('must be well-formed or empty', () => {
    fc.assert(
      fc.property(anyUid(), (uid) => assert.deepEqual(listViolations({ uidp: { descendantsOf: uid } }), [])),
    )
    assert.deepEqual(listViolations({ uidp: { descendantsOf: '' } }), [])
    for (const uid of ['x', '/', 'a'.repeat(39), `${'a'.repeat(40)}/`, 'A'.repeat(40)]) {
      const [violation] = listViolations({ uidp: { descendantsOf: uid } })
      assert.equal(violation?.field, 'uidp.descendants_of')
      assert.match(violation.description, /^must be a uid/)
    }
  })

  test('is checked in lists, which have a maximum length', () => {
    const uid = 'a'.repeat(40)
    assert.deepEqual(listViolations({ uidp: { ids: Array(1000).fill(uid) } }), [])
    assert.deepEqual(listViolations({ uidp: { ids: Array(1001).fill(uid) } }), [
      { field: 'uidp.ids', description: 'must have at most 1000 entries' },
    ])
    assert.equal(listViolations({ uidp: { ids: [uid, 'x'] } })[0]?.field, 'uidp.ids[1]')
  })
})

describe('a number', () => {
  test('must not be negative if the contract says so', () => {
    assert.deepEqual(listViolations({ pageSize: 0, skip: 5 }), [])
    assert.deepEqual(listViolations({ pageSize: -1, skip: -2147483648 }), [
      { field: 'page_size', description: 'must not be negative' },
      { field: 'skip', description: 'must not be negative' },
    ])
  })
})

describe('validation', () => {
  test('checks nested messages, except a skipped one', () => {
    const [, resource] = CreateGroupRequestSchema.fields
    const request = create(CreateGroupRequestSchema, { group: { name: 'A' } })
    assert.equal(violationsOf(CreateGroupRequestSchema, request)[0]?.field, 'group.name')
    assert.deepEqual(violationsOf(CreateGroupRequestSchema, request, resource), [])
    assert.deepEqual(violationsOf(CreateGroupRequestSchema, create(CreateGroupRequestSchema)), [
      { field: 'group', description: 'is required' },
    ])
  })

  test('reports at most twenty violations', () => {
    assert.equal(listViolations({ uidp: { ids: Array(1000).fill('x') } }).length, 20)
  })
})

/** The violations of a message whose field `field` has this value. */
function violationsFor(field: FieldSpec, value: unknown): { field: string; description: string }[] {
  const desc = declareMessages({
    M: { field, other: 'string' },
    Inner: { name: { type: 'string', rules: { pattern: 'a+' } } },
  })('M')
  return violationsOf(desc, create(desc, value === undefined ? {} : { field: value }))
}

describe('a rule', () => {
  test('applies to the whole value, even if its pattern is not anchored', () => {
    const rules = { pattern: 'a|b' }
    assert.deepEqual(violationsFor({ type: 'string', rules }, 'a'), [])
    assert.equal(violationsFor({ type: 'string', rules }, 'xa').length, 1)
    assert.equal(violationsFor({ type: 'string', rules }, 'a\n').length, 1)
  })

  test('is described by its hint if it has one', () => {
    const rules = { pattern: 'a+', hint: 'must contain only a' }
    const field = { type: 'string', rules, behaviour: FieldBehavior.REQUIRED }
    assert.deepEqual(violationsFor(field, 'b'), [{ field: 'field', description: 'must contain only a' }])
    assert.deepEqual(violationsFor(field, ''), [
      { field: 'field', description: 'is required and must contain only a' },
    ])
  })

  test('applies to an optional field that is set to an empty string, but not to one that is not set', () => {
    const field = { type: 'string', optional: true, rules: { pattern: 'a+' } }
    assert.equal(violationsFor(field, '').length, 1)
    assert.deepEqual(violationsFor(field, undefined), [])
  })

  test('of a required field rejects an empty list or map, a missing message and the number 0', () => {
    const behaviour = FieldBehavior.REQUIRED
    const missing = [{ field: 'field', description: 'is required' }]
    assert.deepEqual(violationsFor({ type: 'string', list: true, behaviour }, []), missing)
    assert.deepEqual(violationsFor({ type: 'string', key: 'string', behaviour }, {}), missing)
    assert.deepEqual(violationsFor({ type: 'Inner', behaviour }, undefined), missing)
    assert.deepEqual(violationsFor({ type: 'int64', behaviour }, 0n), missing)
    assert.deepEqual(violationsFor({ type: 'int64', behaviour }, 1n), [])
  })

  test('applies to each element of a list and each key and value of a map', () => {
    const inner = { name: 'b' }
    const description = 'must match "a+"'
    assert.deepEqual(violationsFor({ type: 'Inner', list: true }, [{ name: 'a' }, inner]), [
      { field: 'field[1].name', description },
    ])
    assert.deepEqual(violationsFor({ type: 'Inner', key: 'int64' }, { 7: inner }), [
      { field: 'field[7].name', description },
    ])
    assert.deepEqual(
      violationsFor({ type: 'string', key: 'string', rules: { pattern: 'a+' } }, { a: 'a', b: 'c' }),
      [
        { field: 'field[b]', description: `the key ${description}` },
        { field: 'field[b]', description },
      ],
    )
    assert.deepEqual(
      violationsFor({ type: 'string', key: 'string', rules: { maxItems: 1 } }, { a: '', b: '' }),
      [{ field: 'field', description: 'must have at most 1 entries' }],
    )
    const [hostile] = violationsFor({ type: 'string', key: 'string' }, { [`${'x'.repeat(1000)}\ud800`]: '' })
    assert.ok(hostile && hostile.field.length < 200 && hostile.field.isWellFormed())
  })

  test('rejects negative numbers of any size', () => {
    const rules = { nonNegative: true }
    assert.equal(violationsFor({ type: 'int64', rules }, -(2n ** 63n)).length, 1)
    assert.deepEqual(violationsFor({ type: 'int64', rules }, 2n ** 63n - 1n), [])
    assert.equal(violationsFor({ type: 'double', rules }, -1e-300).length, 1)
  })

  test('rejects times that JSON cannot express', () => {
    const timestamp = 'must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z'
    const duration = 'must be at most 10,000 years, with seconds and nanos of the same sign'
    assert.deepEqual(violationsFor({ type: 'google.protobuf.Timestamp' }, { seconds: 2n ** 62n }), [
      { field: 'field', description: timestamp },
    ])
    assert.deepEqual(violationsFor({ type: 'google.protobuf.Timestamp' }, { seconds: 1n }), [])
    assert.deepEqual(violationsFor({ type: 'google.protobuf.Duration' }, { seconds: 1n, nanos: -1 }), [
      { field: 'field', description: duration },
    ])
    const list = violationsFor({ type: 'google.protobuf.Timestamp', list: true }, [{}, { nanos: -1 }])
    assert.deepEqual(list, [{ field: 'field[1]', description: timestamp }])
  })
})
