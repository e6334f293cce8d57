import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IdentityProvider_OIDCSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { groupsOf } from './groups.ts'

const groupsIn = (claims: Record<string, unknown>, groupsClaim = 'groups') =>
  groupsOf({ configuration: create(IdentityProvider_OIDCSchema, { groupsClaim }) }, claims)

describe('the groups of a token', () => {
  test('are the texts in the claim that the provider is configured with', () => {
    assert.deepEqual(groupsIn({ groups: ['developers', 'Übung 1'] }), {
      groups: ['developers', 'Übung 1'],
      ignored: 0,
    })
    assert.deepEqual(groupsIn({ groups: 'developers' }), { groups: ['developers'], ignored: 0 })
    assert.deepEqual(groupsIn({ roles: ['admin'] }, 'roles'), { groups: ['admin'], ignored: 0 })
  })

  test('are none without a claim', () => {
    assert.deepEqual(groupsIn({}), { groups: [], ignored: 0 })
    assert.deepEqual(groupsIn({ '': ['developers'] }, ''), { groups: [], ignored: 0 })
    for (const inherited of ['constructor', '__proto__', 'toString'])
      assert.deepEqual(groupsIn({}, inherited), { groups: [], ignored: 0 })
  })

  test('are counted as ignored if they are not ids of groups', () => {
    const longest = 'é'.repeat(256)
    const invalid = ['', 7, null, ['nested'], { id: 'x' }, `${longest}é`, 'a\nb', 'a\u0000b', '\ud800']
    assert.deepEqual(groupsIn({ groups: [longest, ...invalid] }), {
      groups: [longest],
      ignored: invalid.length,
    })
    assert.deepEqual(groupsIn({ groups: { developers: true } }), { groups: [], ignored: 1 })
  })

  test('are not read from elsewhere if the token only refers to them', () => {
    const overage = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://x.test' } },
    }
    assert.deepEqual(groupsIn(overage), { groups: [], ignored: 1 })
    assert.deepEqual(groupsIn(overage, 'roles'), { groups: [], ignored: 0 })
    for (const _claim_names of [null, 'groups', []])
      assert.deepEqual(groupsIn({ _claim_names }), { groups: [], ignored: 0 })
  })

  test('are at most 2000', () => {
    const many = Array.from({ length: 2500 }, (_, at) => `group ${at}`)
    assert.deepEqual(groupsIn({ groups: many }), { groups: many.slice(0, 2000), ignored: 500 })
  })
})
