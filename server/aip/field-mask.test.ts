import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf'
import { clone, create, equals, fromJson, toJson } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { FieldBehavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import fc from 'fast-check'
import { declareMessages } from '../testing/declared-messages.ts'
import { StatusError } from './errors.ts'
import { applyMask, parseMask, populatedPaths } from './field-mask.ts'

const pathsOf = (desc: DescMessage, paths: string[]) =>
  parseMask(desc, paths).map((fields) => fields.map(({ name }) => name).join('.'))

/** The JSON of a resource after an update with this mask. */
function update(desc: DescMessage, current: JsonObject, patch: JsonObject, paths: string[]): JsonObject {
  const mask = parseMask(desc, paths)
  const { merged } = applyMask(desc, fromJson(desc, current), fromJson(desc, patch), mask)
  return toJson(desc, merged) as JsonObject
}

/** The JSON of a resource after an update without a mask. */
function updateUnmasked(desc: DescMessage, current: JsonObject, patch: JsonObject): JsonObject {
  const sent = fromJson(desc, patch)
  const { merged } = applyMask(desc, fromJson(desc, current), sent, populatedPaths(reflect(desc, sent)))
  return toJson(desc, merged) as JsonObject
}

function assertRejected(run: () => unknown, field: string, description: RegExp): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof StatusError, String(error))
    assert.equal(error.http, 400)
    assert.equal(error.violations[0]?.field, field)
    assert.match(error.violations[0].description, description)
    return true
  })
}

const identity = {
  uid: 'aa',
  name: 'ci',
  description: 'builds',
  lastSeenTime: '2026-01-02T03:04:05Z',
  claimMatch: { issuer: 'https://issuer.test', subject: 'repo' },
}

describe('a mask', () => {
  test('accepts both spellings of a path, and spaces around it', () => {
    assert.deepEqual(pathsOf(IdentitySchema, ['claimMatch.issuer', ' claim_match.subject ', 'name']), [
      ...['claim_match.issuer', 'claim_match.subject', 'name'],
    ])
  })

  test('of * contains every field', () => {
    assert.deepEqual(
      pathsOf(GroupSchema, ['*']),
      GroupSchema.fields.map(({ name }) => name),
    )
    assert.deepEqual(pathsOf(GroupSchema, [' * ', '']).length, GroupSchema.fields.length)
  })

  test('may not contain other paths besides *', () => {
    assertRejected(() => parseMask(GroupSchema, ['*', 'name']), 'update_mask', /no other path/)
  })

  test('that is blank contains nothing', () => {
    assert.deepEqual(pathsOf(GroupSchema, []), [])
    assert.deepEqual(pathsOf(GroupSchema, ['', '  ']), [])
  })

  test('is rejected for an unknown path, which the error names', () => {
    const unknownPaths = [
      'nme',
      'name.first',
      'createTime.seconds',
      'claim_match.*',
      'claim_match.',
      '__proto__',
    ]
    for (const path of [...unknownPaths, 'constructor', 'claimMatch.constructor', '\ud800', '\0', '"']) {
      assertRejected(() => parseMask(IdentitySchema, ['name', path]), 'update_mask', /" is not one of them$/)
    }
    assertRejected(() => parseMask(GroupSchema, ['nme']), 'update_mask', /"nme" is not one of them$/)
  })

  test('cannot contain paths inside lists and maps', () => {
    assertRejected(() => parseMask(RoleSchema, ['capabilities.0']), 'update_mask', /is not one of them/)
    assertRejected(
      () => parseMask(GroupSchema, ['resource_limits.clusters']),
      'update_mask',
      /is not one of them/,
    )
  })

  test('is rejected if it has more than 200 paths', () => {
    assertRejected(() => parseMask(GroupSchema, Array(201).fill('name')), 'update_mask', /at most 200/)
  })

  test('with a long unknown path is rejected with an error that shortens the path', () => {
    const long = 'x'.repeat(1_000_000)
    assertRejected(() => parseMask(GroupSchema, [long]), 'update_mask', /^.{1,200}$/)
  })
})

describe('an update with a mask', () => {
  test('changes only the fields of the mask', () => {
    const patch = { name: 'new', description: 'new' }
    assert.deepEqual(update(IdentitySchema, identity, patch, ['description']), {
      ...identity,
      description: 'new',
    })
  })

  test('clears fields of the mask that the request omits', () => {
    const { description: _, ...withoutDescription } = identity
    assert.deepEqual(update(IdentitySchema, identity, {}, ['description']), withoutDescription)
    const { claimMatch: __, ...withoutMatch } = identity
    assert.deepEqual(update(IdentitySchema, identity, {}, ['claim_match']), withoutMatch)
  })

  test('replaces a whole message if the mask names the message, and one field if the mask names the field', () => {
    const patch = { claimMatch: { subject: 'other' } }
    assert.deepEqual(update(IdentitySchema, identity, patch, ['claimMatch']).claimMatch, { subject: 'other' })
    assert.deepEqual(update(IdentitySchema, identity, patch, ['claimMatch.subject']).claimMatch, {
      issuer: 'https://issuer.test',
      subject: 'other',
    })
    assert.deepEqual(update(IdentitySchema, identity, patch, ['claimMatch.issuer']).claimMatch, {
      subject: 'repo',
    })
  })

  test('creates the missing message around a field that it sets, but not around a field that it clears', () => {
    const bare = { uid: 'aa', name: 'ci' }
    const patch = { claimMatch: { subject: 'other' } }
    assert.deepEqual(update(IdentitySchema, bare, patch, ['claim_match.subject']).claimMatch, {
      subject: 'other',
    })
    assert.deepEqual(update(IdentitySchema, bare, {}, ['claim_match.subject']), bare)
  })

  test('replaces all fields that callers can set if the mask is *', () => {
    const patch = { uid: 'bb', name: 'new', lastSeenTime: '2030-01-01T00:00:00Z' }
    const { uid, lastSeenTime } = identity
    assert.deepEqual(update(IdentitySchema, identity, patch, ['*']), { uid, name: 'new', lastSeenTime })
  })

  test('ignores output-only fields in the mask', () => {
    const patch = { uid: 'bb', lastSeenTime: '2030-01-01T00:00:00Z' }
    assert.deepEqual(
      update(IdentitySchema, identity, patch, ['uid', 'last_seen_time', 'create_time']),
      identity,
    )
  })

  test('changes nothing if the mask is empty', () => {
    assert.deepEqual(update(IdentitySchema, identity, { name: 'new' }, []), identity)
  })

  test('returns the changed fields that only the operator may change', () => {
    const operatorFieldsOf = (current: JsonObject, patch: JsonObject, paths: string[]) => {
      const messages = [fromJson(GroupSchema, current), fromJson(GroupSchema, patch)] as const
      return applyMask(GroupSchema, ...messages, parseMask(GroupSchema, paths)).operatorFields.map(
        ({ name }) => name,
      )
    }
    assert.deepEqual(operatorFieldsOf({ verified: true }, { verified: true, name: 'x' }, ['*']), [])
    assert.deepEqual(operatorFieldsOf({}, { verified: true, kind: 'ORG_KIND_DEV' }, ['name']), [])
    assert.deepEqual(operatorFieldsOf({}, { verified: true, kind: 'ORG_KIND_DEV' }, ['*']), [
      'verified',
      'kind',
    ])
    assert.deepEqual(operatorFieldsOf({ verified: true }, {}, ['verified']), ['verified'])
    assert.deepEqual(operatorFieldsOf({ kind: 'ORG_KIND_DEV' }, { kind: 'ORG_KIND_UNSPECIFIED' }, ['kind']), [
      'kind',
    ])
  })
})

describe('an update without a mask', () => {
  test('changes only the fields that are set, also inside a message', () => {
    const patch = { description: 'new', claimMatch: { subject: 'other' } }
    assert.deepEqual(updateUnmasked(IdentitySchema, identity, patch), {
      ...identity,
      description: 'new',
      claimMatch: { issuer: 'https://issuer.test', subject: 'other' },
    })
  })

  test('clears a message that the request contains as an empty object', () => {
    assert.deepEqual(updateUnmasked(IdentitySchema, identity, { claimMatch: {} }).claimMatch, {})
  })

  test('treats an empty value as not set', () => {
    assert.deepEqual(updateUnmasked(IdentitySchema, identity, { description: '' }), identity)
  })

  test('treats an optional field with its default value as set', () => {
    const current = { kind: 'ORG_KIND_DEV' }
    const { kind } = updateUnmasked(GroupSchema, current, { kind: 'ORG_KIND_UNSPECIFIED' })
    assert.equal(kind, 'ORG_KIND_UNSPECIFIED')
  })
})

const provider = declareMessages({
  Provider: {
    name: 'string',
    region: { type: 'string', behaviour: FieldBehavior.IMMUTABLE },
    oidc: { type: 'Oidc', oneof: 'configuration' },
    saml: { type: 'string', oneof: 'configuration' },
    labels: { type: 'string', key: 'string' },
    scopes: { type: 'string', list: true },
  },
  Oidc: {
    issuer: 'string',
    rule: { type: 'string', behaviour: FieldBehavior.IMMUTABLE },
    checked: { type: 'string', behaviour: FieldBehavior.OUTPUT_ONLY },
    inner: 'Inner',
  },
  Inner: { text: 'string', seen: { type: 'string', behaviour: FieldBehavior.OUTPUT_ONLY } },
})('Provider')

describe('an immutable field', () => {
  const current = { name: 'a', region: 'eu', oidc: { issuer: 'i', rule: 'sub', checked: 'yes' } }

  test('may be sent unchanged or omitted, also with the mask *', () => {
    assert.deepEqual(update(provider, current, { name: 'b', region: 'eu', oidc: current.oidc }, ['*']), {
      ...current,
      name: 'b',
    })
    assert.equal(update(provider, current, { name: 'b' }, ['region', 'name']).region, 'eu')
  })

  test('can be neither changed nor set later', () => {
    assertRejected(
      () => update(provider, current, { region: 'us' }, ['region']),
      'region',
      /cannot be changed/,
    )
    assertRejected(
      () => update(provider, { name: 'a' }, { region: 'us' }, ['*']),
      'region',
      /cannot be changed/,
    )
  })

  test('inside a message is kept when the message is replaced, and cannot be changed', () => {
    assert.deepEqual(update(provider, current, { oidc: { issuer: 'j' } }, ['oidc']).oidc, {
      issuer: 'j',
      rule: 'sub',
      checked: 'yes',
    })
    const change = { oidc: { issuer: 'j', rule: 'email' } }
    assertRejected(() => update(provider, current, change, ['oidc']), 'oidc.rule', /cannot be changed/)
  })

  test('inside a new message can be set', () => {
    assert.deepEqual(update(provider, { name: 'a' }, { oidc: { rule: 'email' } }, ['oidc']).oidc, {
      rule: 'email',
    })
  })
})

describe('an output-only field inside a message', () => {
  test('keeps its value when the message is replaced, and is dropped from a new message', () => {
    const patch = { oidc: { issuer: 'j', checked: 'forged', inner: { text: 't', seen: 'forged' } } }
    const current = { oidc: { issuer: 'i', checked: 'yes' } }
    assert.deepEqual(update(provider, current, patch, ['oidc']).oidc, {
      issuer: 'j',
      checked: 'yes',
      inner: { text: 't' },
    })
    assert.deepEqual(update(provider, {}, patch, ['*']).oidc, { issuer: 'j', inner: { text: 't' } })
    assert.equal((update(provider, current, patch, ['oidc.checked']).oidc as JsonObject).checked, 'yes')
  })
})

describe('a oneof', () => {
  test('has only the member that the update sets', () => {
    const oidc = { oidc: { issuer: 'i' } }
    const saml = { saml: 's' }
    for (const paths of [['*'], ['oidc', 'saml'], ['saml', 'oidc']]) {
      assert.deepEqual(update(provider, oidc, saml, paths), saml)
      assert.deepEqual(update(provider, saml, oidc, paths), oidc)
    }
    assert.deepEqual(update(provider, oidc, saml, ['saml']), saml)
    assert.deepEqual(update(provider, oidc, saml, ['oidc']), {})
    assert.deepEqual(update(provider, oidc, {}, ['saml']), oidc)
  })
})

describe('lists and maps', () => {
  const current = { scopes: ['a', 'b'], labels: { x: '1', y: '2' } }

  test('are replaced as a whole', () => {
    const patch = { scopes: ['c'], labels: { z: '3' } }
    assert.deepEqual(update(provider, current, patch, ['scopes', 'labels']), patch)
    assert.deepEqual(updateUnmasked(provider, current, patch), patch)
    assert.deepEqual(update(provider, current, {}, ['scopes']), { labels: current.labels })
  })

  test('are copied, so that the merged message does not share them with the patch', () => {
    const sent = fromJson(provider, { scopes: ['c'] }) as Message & { scopes: string[] }
    const { merged } = applyMask(provider, create(provider), sent, parseMask(provider, ['*']))
    sent.scopes.push('d')
    assert.deepEqual(toJson(provider, merged), { scopes: ['c'] })
  })
})

test('applyMask modifies neither the current message nor the patch, whatever the mask', () => {
  const text = fc.constantFrom('', 'a', 'b')
  const oidc = fc.record({ issuer: text, rule: fc.constant('sub'), checked: text }, { requiredKeys: [] })
  const json = fc.record(
    { name: text, scopes: fc.array(text), labels: fc.dictionary(text, text), oidc },
    { requiredKeys: [], noNullPrototype: true },
  )
  const paths = fc.subarray(['name', 'scopes', 'labels', 'oidc', 'oidc.issuer', 'oidc.checked', 'saml'])
  fc.assert(
    fc.property(json, json, paths, (before, after, masked) => {
      const current = fromJson(provider, JSON.parse(JSON.stringify(before)))
      const patch = fromJson(provider, JSON.parse(JSON.stringify(after)))
      const copies = [clone(provider, current), clone(provider, patch)] as const
      try {
        applyMask(provider, current, patch, parseMask(provider, masked))
      } catch (error) {
        assert.ok(error instanceof StatusError, String(error))
      }
      assert.ok(equals(provider, current, copies[0]))
      assert.ok(equals(provider, patch, copies[1]))
    }),
    { numRuns: 500 },
  )
})
