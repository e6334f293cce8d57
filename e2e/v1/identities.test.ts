// Identities through v1, and the lookup by issuer and subject of a token.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { ensurePerson } from '../../server/resources/iam/people.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, violations } from '../contract/examples.ts'
import { jwks } from '../sign-in/key-sets.ts'

const v1 = Identities.method
const v2 = IdentitiesService.method

const robotClaims = { issuer: 'https://issuer.test', subject: 'robot' }
const robot = { name: 'robot', description: 'builds', claimMatch: robotClaims }

const create = (stage: ExampleContext, identity: JsonObject = robot, parentId = stage.owner.organization) =>
  stage.succeed(v1.create, { parentId, identity })
const read = ({ succeed }: ExampleContext, id: unknown) => succeed(v2.getIdentity, { uid: id as string })

examples('identities of v1', {
  async 'an identity created by v1 is visible in v2'(stage) {
    const { id, createdAt, updatedAt, lastSeen, ...rest } = await create(stage)
    assert.deepEqual(rest, { ...robot, claimMatch: { ...robotClaims, claims: {}, claimPatterns: {} } })
    const stored = await read(stage, id)
    assert.deepEqual([stored.createTime, stored.updateTime], [createdAt, updatedAt])
    assert.equal(stored.lastSeenTime, lastSeen)
    assert.deepEqual(stored.claimMatch, robotClaims)
  },

  async 'every kind of relationship converts to v2 and back'(stage) {
    const relationships: [JsonObject, JsonObject][] = [
      [{ claimMatch: { issuerPattern: 'https://.+\\.test', subjectPattern: 'a.*', audience: 'b' } }, {}],
      [{ static: { issuer: robotClaims.issuer, subject: 'x', issuerKeys: jwks, audiences: ['me'] } }, {}],
      [{ servicePrincipal: 'COSIGNED' }, { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' }],
      [{ awsIdentity: { awsAccount: '123456789012', arnPattern: 'arn:.*', userId: 'AROAX' } }, {}],
    ]
    for (const [relationship, expectedInV2] of relationships) {
      const [[name, value]] = Object.entries(relationship) as [[string, JsonObject]]
      const { id, ...created } = await create(stage, { name: 'robot', ...relationship })
      const stored = await read(stage, id)
      const inV2 = expectedInV2[name] ?? stored[name === 'static' ? 'staticKeys' : name]
      if (typeof value !== 'object') {
        assert.deepEqual([created[name], stored[name]], [value, inV2])
        continue
      }
      for (const [key, part] of Object.entries(value)) {
        assert.deepEqual((created[name] as JsonObject)[key], part)
        assert.deepEqual((inV2 as JsonObject)[key], part)
      }
      if (name === 'static')
        assert.equal((created[name] as JsonObject).expiration, (inV2 as JsonObject).expirationTime)
    }
  },

  async 'errors name the fields of v1'({ fail, owner }) {
    const refuse = async (identity: JsonObject) =>
      violations(await fail(v1.create, { parentId: owner.organization, identity }))
    const keys = { issuer: robotClaims.issuer, subject: 'x' }
    assert.deepEqual(await refuse({ name: 'a', static: keys }), ['static.issuerKeys'])
    const late = { ...keys, issuerKeys: jwks, expiration: '2199-01-01T00:00:00Z' }
    assert.deepEqual(await refuse({ name: 'a', static: late }), ['static.expiration'])
    assert.deepEqual(await refuse({ name: 'a', claimMatch: { issuer: robotClaims.issuer } }), [
      'claimMatch.subject',
    ])
    assert.deepEqual(await refuse({ claimMatch: robotClaims }), ['name'])
  },

  async 'an update replaces the fields of v1 and keeps the others'(stage) {
    const { succeed, fail } = stage
    const { id } = await create(stage)
    await succeed(v2.updateIdentity, { identity: { uid: id as string, company: 'acme' } })
    const aws = { awsAccount: '123456789012', arnPattern: 'arn:.*', userId: 'AROAX' }
    const changed = await succeed(v1.update, { id: id as string, name: 'cloud', awsIdentity: aws })
    assert.deepEqual([changed.description, changed.awsIdentity, changed.claimMatch], ['', aws, undefined])
    const stored = await read(stage, id)
    assert.deepEqual([stored.description, stored.awsIdentity, stored.company], ['', aws, 'acme'])
    assert.equal((await fail(v1.update, { id: id as string, name: 'cloud' })).code, 3)
  },

  async 'an identity is listed by id until it is deleted'(stage) {
    const { succeed, fail, owner } = stage
    const { id, ...rest } = await create(stage)
    assert.deepEqual(await succeed(v1.list, { id: id as string }), { items: [{ id, ...rest }] })
    const { createRoleBinding, deleteRoleBinding } = RoleBindingsService.method
    const roleBinding = { identityUid: id as string, roleUid: builtInRole('viewer').uid }
    const { uid } = await succeed(createRoleBinding, { parent: owner.organization, roleBinding })
    const error = await fail(v1.delete, { id: id as string })
    assert.deepEqual([error.code, detail(error, 'PreconditionFailure')], [9, undefined])
    await succeed(deleteRoleBinding, { uid: uid as string })
    await succeed(v1.delete, { id: id as string })
    assert.deepEqual(await succeed(v1.list, { id: id as string }), { items: [] })
  },

  async 'the lookup finds an identity that the caller may see'(stage) {
    const { succeed, fail, platform } = stage
    assert.equal((await fail(v1.lookup, robotClaims)).code, 5)
    const { id } = await create(stage)
    assert.equal((await succeed(v1.lookup, robotClaims)).id, id)
    assert.equal((await fail(v1.lookup, { ...robotClaims, subject: 'robo' })).code, 5)
    assert.equal((await fail(v1.lookup, { ...robotClaims, issuer: `${robotClaims.issuer}/` })).code, 5)
    assert.deepEqual(violations(await fail(v1.lookup, { issuer: robotClaims.issuer })), ['subject'])
    const stranger = await platform.addOrganization('other')
    const hidden = await fail(v1.lookup, robotClaims, stranger.token)
    const missing = await fail(v1.lookup, { ...robotClaims, subject: 'nobody' }, stranger.token)
    assert.deepEqual(hidden, missing)
    assert.equal(hidden.code, 5)
    // Another organization may have an identity with the same issuer and subject.
    const { id: theirs } = await succeed(
      v1.create,
      { parentId: stranger.organization, identity: robot },
      stranger.token,
    )
    assert.equal((await succeed(v1.lookup, robotClaims, stranger.token)).id, theirs)
    assert.equal((await succeed(v1.lookup, robotClaims)).id, id)
    // An identity without bindings sees itself.
    assert.equal((await succeed(v1.lookup, robotClaims, await platform.tokenOf(id as string))).id, id)
    await succeed(v1.update, { id: id as string, ...robot, claimMatch: { ...robotClaims, subject: 'moved' } })
    assert.equal((await fail(v1.lookup, robotClaims)).code, 5)
    assert.equal((await succeed(v1.lookup, { ...robotClaims, subject: 'moved' })).id, id)
  },

  async 'the lookup finds a person only if that person is the caller'({ succeed, fail, platform }) {
    const context = { access: operatorAccess, now: Date.now, random: () => Buffer.alloc(0) }
    const person = { issuer: 'https://people.test', subject: 'ada', name: 'ada' }
    const { uid } = await platform.store.write(() => ensurePerson(context, person))
    const { issuer, subject } = person
    assert.equal((await succeed(v1.lookup, { issuer, subject }, await platform.tokenOf(uid))).id, uid)
    assert.equal((await fail(v1.lookup, { issuer, subject })).code, 5)
  },

  async 'the lookup finds exact matches and static keys, not patterns'(stage) {
    const { succeed, fail } = stage
    const keys = { issuer: robotClaims.issuer, subject: 'signed', issuerKeys: jwks }
    const { id } = await create(stage, { name: 'keys', static: keys })
    assert.equal((await succeed(v1.lookup, { issuer: robotClaims.issuer, subject: 'signed' })).id, id)
    await create(stage, { name: 'any', claimMatch: { issuer: robotClaims.issuer, subjectPattern: 'any.*' } })
    assert.equal((await fail(v1.lookup, { issuer: robotClaims.issuer, subject: 'any.*' })).code, 5)
  },
})
