// Partial updates of nested fields, oneofs, maps and lists.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { jwks } from '../sign-in/key-sets.ts'

const { createIdentity, updateIdentity, getIdentity } = IdentitiesService.method
const { createIdentityProvider, updateIdentityProvider } = IdentityProvidersService.method
const { createAccountAssociation, updateAccountAssociation } = AccountAssociationsService.method
const { createRole, updateRole } = RolesService.method

const claimMatch = {
  issuer: 'https://issuer.test',
  subject: 'robot',
  audience: 'sts',
  claims: { env: 'prod', team: 'a' },
  claimPatterns: { ref: 'v.*' },
}
const awsIdentity = { awsAccount: '123456789012', arnPattern: 'arn:.*', userIdPattern: 'A.*' }
const staticKeys = { issuer: 'https://offline.test', subject: 'ci', issuerKeys: jwks }

async function makeIdentity(stage: ExampleContext): Promise<string> {
  const identity = { name: 'robot', description: 'kept', claimMatch }
  return make(stage, createIdentity, { parent: stage.owner.organization, identity })
}

const update = async (stage: ExampleContext, uid: string, change: JsonObject, updateMask?: string) =>
  stage.succeed(updateIdentity, { identity: { uid, ...change }, ...(updateMask ? { updateMask } : {}) })

const relationships = ['claimMatch', 'staticKeys', 'awsIdentity', 'servicePrincipal']
const relationshipsOf = (identity: JsonObject) => relationships.filter((name) => name in identity)

examples('updates of IAM resources', {
  async 'a nested path changes only that field'(stage) {
    const uid = await makeIdentity(stage)
    const sent = { description: 'ignored', claimMatch: { subject: 'other', issuer: 'https://ignored.test' } }
    const changed = await update(stage, uid, sent, 'claimMatch.subject')
    assert.deepEqual(changed.claimMatch, { ...claimMatch, subject: 'other' })
    assert.equal(changed.description, 'kept')
  },

  async 'without a mask, the nested fields in the body change and the others stay'(stage) {
    const uid = await makeIdentity(stage)
    const changed = await update(stage, uid, { claimMatch: { subject: 'other' } })
    assert.deepEqual(changed.claimMatch, { ...claimMatch, subject: 'other' })
  },

  async 'a mask with only blank paths is no mask'(stage) {
    const uid = await makeIdentity(stage)
    const changed = await update(stage, uid, { description: 'new' }, ',')
    assert.equal(changed.description, 'new')
  },

  async 'a mask that names a message replaces it completely'(stage) {
    const uid = await makeIdentity(stage)
    const replacement = { issuer: 'https://new.test', subjectPattern: 'r.*' }
    const changed = await update(stage, uid, { claimMatch: replacement }, 'claimMatch')
    assert.deepEqual(changed.claimMatch, replacement)
  },

  async 'setting one field of a oneof clears the other, and a mask can clear the field that is set'(stage) {
    const uid = await makeIdentity(stage)
    const { subject: _, ...withoutSubject } = claimMatch
    const changed = await update(stage, uid, { claimMatch: { subjectPattern: 'r.*' } })
    assert.deepEqual(changed.claimMatch, { ...withoutSubject, subjectPattern: 'r.*' })
    const { audience: __, ...withoutAudience } = changed.claimMatch as JsonObject
    const cleared = await update(stage, uid, { claimMatch: {} }, 'claimMatch.audience')
    assert.deepEqual(cleared.claimMatch, withoutAudience)
  },

  async 'one relationship replaces another'(stage) {
    const uid = await makeIdentity(stage)
    const steps: [string, JsonObject, string?][] = [
      ['awsIdentity', { awsIdentity }],
      ['servicePrincipal', { servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' }],
      ['staticKeys', { staticKeys }, 'staticKeys'],
      ['claimMatch', { claimMatch }, 'claimMatch'],
      ['awsIdentity', { name: 'robot', awsIdentity }, '*'],
    ]
    for (const [name, change, mask] of steps) {
      const changed = await update(stage, uid, change, mask)
      assert.deepEqual(relationshipsOf(changed), [name])
      assert.deepEqual(await stage.succeed(getIdentity, { uid }), changed)
    }
  },

  async 'an update that would leave an incomplete relationship is refused'(stage) {
    const uid = await makeIdentity(stage)
    const refuse = async (change: JsonObject, updateMask: string) =>
      violations(await stage.fail(updateIdentity, { identity: { uid, ...change }, updateMask }))
    assert.deepEqual(await refuse({}, 'claimMatch'), ['claimMatch'])
    assert.deepEqual(await refuse({ claimMatch: {} }, 'claimMatch.issuer'), ['claimMatch.issuer'])
    assert.deepEqual(await refuse({ claimMatch: { subjectPattern: '(' } }, 'claimMatch.subjectPattern'), [
      'claimMatch.subjectPattern',
    ])
    assert.deepEqual(await refuse({ awsIdentity: { arn: 'x' } }, 'awsIdentity.arn'), [
      'awsIdentity.awsAccount',
    ])
    assert.deepEqual((await stage.succeed(getIdentity, { uid })).claimMatch, claimMatch)
  },

  async 'maps are replaced as a whole, and cleared by a mask'(stage) {
    const uid = await makeIdentity(stage)
    const changed = await update(stage, uid, { claimMatch: { claims: { env: 'dev' } } })
    assert.deepEqual((changed.claimMatch as JsonObject).claims, { env: 'dev' })
    const cleared = await update(stage, uid, { claimMatch: {} }, 'claimMatch.claims,claimMatch.claimPatterns')
    const { claims: _, claimPatterns: __, ...rest } = claimMatch
    assert.deepEqual(cleared.claimMatch, rest)
  },

  async 'lists are replaced as a whole, and cleared by a mask if they may be empty'(stage) {
    const parent = stage.owner.organization
    const oidc = {
      issuer: 'https://sso.test',
      clientId: 'x',
      pkceEnabled: true,
      additionalScopes: ['a', 'b'],
    }
    const provider = { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc }
    const uid = await make(stage, createIdentityProvider, { parent, identityProvider: provider })
    const replaceScopes = async (additionalScopes: string[], updateMask: string) => {
      const identityProvider = { uid, oidc: { additionalScopes } }
      const changed = await stage.succeed(updateIdentityProvider, { identityProvider, updateMask })
      return (changed.oidc as JsonObject).additionalScopes
    }
    assert.deepEqual(await replaceScopes(['c'], 'oidc.additionalScopes'), ['c'])
    assert.deepEqual(await replaceScopes([], 'oidc.additionalScopes'), [])
    const role = { name: 'lister', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const roleUid = await make(stage, createRole, { parent, role })
    const emptied = { role: { uid: roleUid }, updateMask: 'capabilities' }
    assert.deepEqual(violations(await stage.fail(updateRole, emptied)), ['capabilities'])
  },

  async 'output-only fields in body and mask are ignored'(stage) {
    const uid = await makeIdentity(stage)
    const before = await stage.succeed(getIdentity, { uid })
    const outputOnly = {
      lastSeenTime: '2001-01-01T00:00:00Z',
      createTime: '2001-01-01T00:00:00Z',
      email: 'a@b.test',
    }
    const mask = 'uid,lastSeenTime,createTime,updateTime,email,emailUnverified'
    assert.deepEqual(await update(stage, uid, outputOnly, mask), before)
    assert.deepEqual(await update(stage, uid, outputOnly), before)
  },

  async 'a mask of * clears omitted fields'(stage) {
    const uid = await makeIdentity(stage)
    const { subject, issuer } = claimMatch
    const replaced = await update(stage, uid, { name: 'new', claimMatch: { subject, issuer } }, '*')
    assert.deepEqual([replaced.name, replaced.description], ['new', ''])
    assert.deepEqual(replaced.claimMatch, { subject, issuer })
    const parent = stage.owner.organization
    const association = { name: 'all', amazon: { account: '123456789012' } }
    await stage.succeed(createAccountAssociation, { parent, accountAssociation: association })
    const emptied = await stage.succeed(updateAccountAssociation, {
      accountAssociation: { uid: parent, name: 'none' },
      updateMask: '*',
    })
    assert.ok(!('amazon' in emptied))
  },

  async 'a mask with an unknown field is refused'(stage) {
    const uid = await makeIdentity(stage)
    for (const updateMask of ['nothing', 'subject', 'name.first']) {
      const error = await stage.fail(updateIdentity, { identity: { uid, claimMatch }, updateMask })
      assert.deepEqual(violations(error), ['updateMask'])
    }
  },
})
