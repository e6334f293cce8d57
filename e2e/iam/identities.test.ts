// Identities: how workloads are recognised, and who may see them.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'
import { jwks, privateJwks } from '../sign-in/key-sets.ts'

const { createIdentity, getIdentity, listIdentities, updateIdentity, deleteIdentity, lookupIdentity } =
  IdentitiesService.method
const { createRoleBinding, deleteRoleBinding } = RoleBindingsService.method

const claimMatch = { issuer: 'https://token.actions.test', subject: 'repo:acme/app:ref:refs/heads/main' }

const create = (stage: ExampleContext, identity: JsonObject) =>
  stage.succeed(createIdentity, {
    parent: stage.owner.organization,
    identity: { name: 'robot', ...identity },
  })
/** Creates an identity, which must fail, and returns the invalid fields. */
const refuse = async (stage: ExampleContext, identity: JsonObject) =>
  violations(
    await stage.fail(createIdentity, {
      parent: stage.owner.organization,
      identity: { name: 'robot', ...identity },
    }),
  )

const dayMs = 24 * 60 * 60 * 1000

examples('identities', {
  async 'a new identity has exactly the documented fields'(stage) {
    const identity = await create(stage, { description: 'builds', claimMatch })
    const { uid, createTime, updateTime, lastSeenTime, ...rest } = identity
    assert.deepEqual(rest, { name: 'robot', description: 'builds', claimMatch })
    assert.match(uid as string, new RegExp(`^${stage.owner.organization}/[0-9a-f]{16}$`))
    assert.deepEqual([updateTime, lastSeenTime], [createTime, createTime])
    assert.deepEqual(await stage.succeed(getIdentity, { uid: uid as string }), identity)
  },

  async 'relationships of every type except static keys are stored unchanged'(stage) {
    const relationships: JsonObject[] = [
      { claimMatch: { issuerPattern: 'https://.*\\.test', subjectPattern: 'repo:acme/.*' } },
      {
        claimMatch: {
          ...claimMatch,
          audience: 'sts',
          claims: { env: 'prod' },
          claimPatterns: { ref: 'v[0-9]+' },
        },
      },
      { claimMatch: { ...claimMatch, audiencePattern: 'a|b' } },
      { awsIdentity: { awsAccount: '123456789012', arnPattern: 'arn:.*', userId: 'AROAX' } },
      {
        awsIdentity: {
          awsAccount: '123456789012',
          arn: 'arn:aws:sts::123456789012:assumed-role/app/session',
          userIdPattern: 'AROA.*',
        },
      },
      { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
    ]
    for (const relationship of relationships) {
      const { uid, ...rest } = await create(stage, relationship)
      for (const [key, value] of Object.entries(relationship)) assert.deepEqual(rest[key], value)
      assert.deepEqual({ uid, ...rest }, await stage.succeed(getIdentity, { uid: uid as string }))
    }
  },

  async 'static keys expire after 365 days unless an earlier time is given'(stage) {
    const staticKeys = { issuer: 'https://offline.test', subject: 'ci', issuerKeys: jwks }
    const identity = await create(stage, { staticKeys })
    const { expirationTime } = identity.staticKeys as { expirationTime: string }
    assert.equal(Date.parse(expirationTime), Date.parse(identity.createTime as string) + 365 * dayMs)
    const soon = new Date(Date.now() + dayMs).toISOString()
    const withExpiration = await create(stage, {
      staticKeys: { ...staticKeys, expirationTime: soon, audiences: ['x'] },
    })
    assert.equal((withExpiration.staticKeys as JsonObject).expirationTime, soon)
    for (const days of [-1, 366]) {
      const expiry = new Date(Date.now() + days * dayMs).toISOString()
      assert.deepEqual(await refuse(stage, { staticKeys: { ...staticKeys, expirationTime: expiry } }), [
        'staticKeys.expirationTime',
      ])
    }
    assert.deepEqual(await refuse(stage, { staticKeys: { ...staticKeys, audiences: ['a', 'b'] } }), [
      'staticKeys.audiences',
    ])
  },

  async 'keys with a secret are refused, and so are too many keys'(stage) {
    const tooMany = JSON.stringify({ keys: Array(21).fill({}) })
    const keySets = [
      '',
      '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}',
      privateJwks,
      JSON.parse(privateJwks).keys[0],
    ]
    for (const keySet of [...keySets, tooMany]) {
      const issuerKeys = typeof keySet === 'string' ? keySet : JSON.stringify(keySet)
      const staticKeys = { issuer: 'https://offline.test', subject: 'ci', issuerKeys }
      assert.deepEqual(await refuse(stage, { staticKeys }), ['staticKeys.issuerKeys'], issuerKeys)
    }
  },

  async 'a complete relationship is required'(stage) {
    assert.deepEqual(await refuse(stage, {}), ['claimMatch'])
    assert.deepEqual(await refuse(stage, { claimMatch: {} }), ['claimMatch.issuer', 'claimMatch.subject'])
    assert.deepEqual(await refuse(stage, { awsIdentity: { awsAccount: '123456789012' } }), [
      'awsIdentity.arn',
      'awsIdentity.userId',
    ])
    assert.deepEqual(await refuse(stage, { servicePrincipal: 0 }), ['servicePrincipal'])
  },

  async 'issuers must be https URLs'(stage) {
    const invalidIssuers = [
      '',
      'issuer',
      'http://plain.test',
      'http://localhost:8080',
      'https://u:p@x.test',
      'https://x.test?q',
    ]
    for (const issuer of invalidIssuers) {
      assert.deepEqual(await refuse(stage, { claimMatch: { ...claimMatch, issuer } }), ['claimMatch.issuer'])
    }
    await create(stage, { claimMatch: { ...claimMatch, issuer: 'https://tenant.auth.test/' } })
  },

  async 'patterns must be RE2 expressions'(stage) {
    const { issuer, subject } = claimMatch
    for (const pattern of ['(', 'a**', '(?=x)', '(a)\\1', 'x{1001}', '']) {
      const cases: [string, JsonObject][] = [
        ['issuerPattern', { issuerPattern: pattern, subject }],
        ['subjectPattern', { issuer, subjectPattern: pattern }],
        ['audiencePattern', { issuer, subject, audiencePattern: pattern }],
        ['claimPatterns[x]', { issuer, subject, claimPatterns: { x: pattern } }],
      ]
      for (const [field, match] of cases) {
        assert.deepEqual(await refuse(stage, { claimMatch: match }), [`claimMatch.${field}`], pattern)
      }
    }
  },

  async 'patterns have at most 2000 characters together after expansion, and values do not count'(stage) {
    const subject = 's'.repeat(1024)
    const audience = 'a{999}'
    await create(stage, { claimMatch: { ...claimMatch, subject, audience } })
    const claimPatterns = Object.fromEntries(['x', 'y', 'z'].map((name) => [name, `${name}{690}`]))
    assert.deepEqual(await refuse(stage, { claimMatch: { ...claimMatch, claimPatterns } }), [
      'claimMatch.claimPatterns',
    ])
  },

  async 'a mask can clear one part of a relationship; the others, such as patterns, are kept'(stage) {
    const match = { issuer: claimMatch.issuer, subjectPattern: 'repo:acme/.*', audience: 'stemma' }
    const { uid } = await create(stage, { claimMatch: match })
    const updated = await stage.succeed(updateIdentity, {
      identity: { uid: uid as string },
      updateMask: 'claimMatch.audience',
    })
    const { audience: _, ...kept } = match
    assert.deepEqual(updated.claimMatch, kept)
  },

  async 'a claim can have a value and a pattern, but iss, sub and aud have fields of their own'(stage) {
    const claims = { env: 'prod' }
    assert.deepEqual(await refuse(stage, { claimMatch: { ...claimMatch, claims: { sub: 'x' } } }), [
      'claimMatch.claims[sub]',
    ])
    assert.deepEqual(await refuse(stage, { claimMatch: { ...claimMatch, claimPatterns: { aud: '.*' } } }), [
      'claimMatch.claimPatterns[aud]',
    ])
    const both = { ...claimMatch, claims, claimPatterns: { env: '.+' } }
    assert.deepEqual((await create(stage, { claimMatch: both })).claimMatch, both)
  },

  async 'lists are filtered by name and by relationship'(stage) {
    await create(stage, { name: 'a', claimMatch })
    await create(stage, { name: 'b', servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' })
    const names = async (request: JsonObject) => {
      const scope = { uidp: { descendantsOf: stage.owner.organization } }
      const listed = await stage.succeed(listIdentities, { ...scope, orderBy: 'name', ...request })
      const all = (listed.identities as { name: string }[]).map(({ name }) => name)
      assert.equal(listed.totalCount, String(all.length))
      return all
    }
    assert.deepEqual(await names({ relationshipType: 'RELATIONSHIP_TYPE_CLAIM_MATCH' }), ['a', 'owner'])
    assert.deepEqual(await names({ relationshipType: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL' }), ['b'])
    assert.deepEqual(await names({ relationshipType: 'RELATIONSHIP_TYPE_STATIC' }), [])
    assert.deepEqual(await names({ name: 'b' }), ['b'])
    const nameAndType = { name: 'a', relationshipType: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL' }
    assert.deepEqual(await names(nameAndType), [])
  },

  async 'an identity with a role binding cannot be deleted'(stage) {
    const identityUid = (await create(stage, { claimMatch })).uid as string
    const binding = await make(stage, createRoleBinding, {
      parent: stage.owner.organization,
      roleBinding: { identityUid, roleUid: builtInRole('viewer').uid },
    })
    const error = await stage.fail(deleteIdentity, { uid: identityUid })
    assert.equal(error.code, 9)
    assert.deepEqual(detail(error, 'PreconditionFailure')?.violations, [
      { type: 'RESOURCE_IN_USE', description: 'cannot delete identity that still holds roles' },
    ])
    await stage.succeed(deleteRoleBinding, { uid: binding })
    assert.deepEqual(await stage.succeed(deleteIdentity, { uid: identityUid }), {})
    assert.equal((await stage.fail(deleteIdentity, { uid: identityUid })).code, 5)
  },

  async 'people see themselves, and nobody else sees them'({ platform, succeed, fail, owner }) {
    const user = await platform.addIdentity('')
    const other = await platform.addIdentity('')
    assert.equal((await succeed(getIdentity, { uid: user.identity }, user.token)).uid, user.identity)
    const listed = await succeed(listIdentities, {}, user.token)
    assert.deepEqual([listed.totalCount, (listed.identities as JsonObject[])[0]?.uid], ['1', user.identity])
    assert.equal((await succeed(listIdentities, { uidp: { inRoot: true } }, user.token)).totalCount, '1')
    for (const token of [other.token, owner.token]) {
      assert.equal((await fail(getIdentity, { uid: user.identity }, token)).code, 7)
      const ids = { uidp: { ids: [user.identity] } }
      assert.equal((await succeed(listIdentities, ids, token)).totalCount, '0')
    }
    const change = { identity: { uid: user.identity, company: 'acme' } }
    assert.equal((await fail(updateIdentity, change, user.token)).code, 7)
    assert.equal((await fail(deleteIdentity, { uid: user.identity }, user.token)).code, 7)
  },

  async 'the uid of a person can be looked up before the person exists'({ succeed, fail, platform }) {
    const email = 'somebody@example.com'
    const request = { issuer: platform.config.authUrl, subject: email }
    const { uid } = await succeed(lookupIdentity, request)
    assert.match(uid as string, /^[0-9a-f]{40}$/)
    assert.deepEqual(await succeed(lookupIdentity, request), { uid })
    assert.notEqual((await succeed(lookupIdentity, { ...request, subject: 'else' })).uid, uid)
    assert.deepEqual(violations(await fail(lookupIdentity, { issuer: 'x' })), ['subject'])
  },

  async 'changing the relationship requires every capability that the identity has'(stage) {
    const { platform, owner } = stage
    const identityWithOwnerRole = (await create(stage, { claimMatch })).uid as string
    const roleBinding = { identityUid: identityWithOwnerRole, roleUid: builtInRole('owner').uid }
    await stage.succeed(createRoleBinding, { parent: owner.organization, roleBinding })
    const updater = await platform.addIdentityWith(owner.organization, ['CAP_IAM_IDENTITY_UPDATE'])
    const takeOver = { identity: { uid: identityWithOwnerRole, claimMatch: { subject: 'mine' } } }
    const error = await stage.fail(updateIdentity, takeOver, updater.token)
    assert.equal(error.code, 7)
    const harmless = { identity: { uid: identityWithOwnerRole, description: 'renamed' } }
    assert.equal((await stage.succeed(updateIdentity, harmless, updater.token)).description, 'renamed')
    await stage.succeed(updateIdentity, takeOver)
  },
})
