// Identity providers: how an organization's people sign in, with a client secret that is never returned.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { getIdentityProvider, listIdentityProviders, createIdentityProvider, updateIdentityProvider } =
  IdentityProvidersService.method
const { deleteIdentityProvider } = IdentityProvidersService.method
const { createRole, deleteRole } = RolesService.method

const defaultRole = builtInRole('viewer').uid
const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush hush' }
const returnedOidc = {
  issuer: 'https://sso.test',
  clientId: 'stemma',
  additionalScopes: [],
  groupsClaim: '',
  correlationRule: 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID',
  pkceEnabled: false,
}

const requestOf = ({ owner }: ExampleContext, identityProvider: JsonObject) => ({
  parent: owner.organization,
  identityProvider: { name: 'sso', defaultRole, ...identityProvider },
})

/** The encrypted client secret in the store. */
const encryptedSecretOf = async ({ platform }: ExampleContext, uid: string) => {
  const [row] = await platform.store.query(
    sql`select client_secret from identity_providers where uid = ${uid}`,
  )
  return row?.[0] as string
}

examples('identity providers', {
  async 'a new provider is returned without its secret, which is stored encrypted'(stage) {
    const provider = await stage.succeed(createIdentityProvider, requestOf(stage, { oidc }))
    const { uid, createTime, updateTime, ...rest } = provider
    assert.deepEqual(rest, { name: 'sso', description: '', defaultRole, oidc: returnedOidc })
    assert.equal(updateTime, createTime)
    const { scim, ...found } = await stage.succeed(getIdentityProvider, { uid: uid as string })
    assert.deepEqual(found, provider)
    assert.equal((scim as JsonObject).credentialState, 'CREDENTIAL_STATE_NOT_ISSUED')
    const { identityProviders } = await stage.succeed(listIdentityProviders, { name: 'sso' })
    assert.deepEqual(identityProviders, [provider])
    const encryptedSecret = await encryptedSecretOf(stage, uid as string)
    const plain = stage.platform.secret.open('identity provider', Buffer.from(encryptedSecret, 'base64url'))
    assert.equal(plain.toString(), oidc.clientSecret)
  },

  async 'a provider needs a configuration, and a secret or PKCE'(stage) {
    const { fail, succeed } = stage
    const { clientSecret: _, ...withoutSecret } = oidc
    const refuse = async (provider: JsonObject) =>
      violations(await fail(createIdentityProvider, requestOf(stage, provider)))
    assert.deepEqual(await refuse({}), ['oidc'])
    assert.deepEqual(await refuse({ oidc: withoutSecret }), ['oidc.clientSecret'])
    await succeed(createIdentityProvider, requestOf(stage, { oidc: { ...withoutSecret, pkceEnabled: true } }))
    assert.deepEqual(await refuse({ oidc: { ...oidc, issuer: 'http://sso.test' } }), ['oidc.issuer'])
    assert.deepEqual(await refuse({ oidc: { ...oidc, clientId: '' } }), ['oidc.clientId'])
    assert.deepEqual(await refuse({ oidc: { ...oidc, additionalScopes: ['two words'] } }), [
      'oidc.additionalScopes',
    ])
    assert.deepEqual(await refuse({ oidc, defaultRole: '0'.repeat(40) }), ['defaultRole'])
  },

  async 'a secret is kept until it is replaced, or cleared by a mask that names it'(stage) {
    const uid = await make(stage, createIdentityProvider, requestOf(stage, { oidc }))
    const before = await encryptedSecretOf(stage, uid)
    const update = (change: JsonObject, updateMask?: string) =>
      stage.call(updateIdentityProvider, {
        identityProvider: { uid, ...change },
        ...(updateMask ? { updateMask } : {}),
      })
    const { clientSecret: _, ...withoutSecret } = oidc
    for (const updated of [
      await update({ description: 'new' }),
      await update({ oidc: { clientId: 'another' } }),
      await update({ oidc: withoutSecret }, 'oidc'),
      await update({ name: 'sso', defaultRole, oidc: withoutSecret }, '*'),
    ])
      assert.equal(updated.error, undefined)
    assert.equal(await encryptedSecretOf(stage, uid), before)
    const { error } = await update({ oidc: {} }, 'oidc.clientSecret')
    assert.match(error?.message ?? '', /pkce/, 'neither a secret nor PKCE would be left')
    await update({ oidc: { pkceEnabled: true } })
    await update({ oidc: {} }, 'oidc.clientSecret')
    assert.equal(await encryptedSecretOf(stage, uid), '')
    await update({ oidc: { clientSecret: 'another' } })
    assert.notEqual(await encryptedSecretOf(stage, uid), '')
  },

  async 'the correlation rule cannot be changed'(stage) {
    const { succeed, fail } = stage
    const uid = await make(stage, createIdentityProvider, requestOf(stage, { oidc }))
    const rule = (correlationRule: string) => ({ identityProvider: { uid, oidc: { correlationRule } } })
    const same = await succeed(updateIdentityProvider, rule('CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID'))
    assert.deepEqual(same.oidc, returnedOidc)
    const error = await fail(updateIdentityProvider, rule('CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'))
    assert.deepEqual(violations(error), ['oidc.correlationRule'])
  },

  async 'the default role cannot have more capabilities than the caller'(stage) {
    const { succeed, fail, platform, owner } = stage
    const admin = await platform.addIdentityWith(owner.organization, [
      'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
      'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
    ])
    assert.equal((await fail(createIdentityProvider, requestOf(stage, { oidc }), admin.token)).code, 7)
    const withRoleOfCaller = requestOf(stage, { oidc, defaultRole: admin.role })
    const { uid } = (await succeed(createIdentityProvider, withRoleOfCaller, admin.token)) as { uid: string }
    const widen = { identityProvider: { uid, defaultRole } }
    assert.equal((await fail(updateIdentityProvider, widen, admin.token)).code, 7)
    await succeed(updateIdentityProvider, widen)
    // Nor can the caller change the issuer of a provider whose default role has more capabilities than the caller.
    const changeIssuer = { identityProvider: { uid, oidc: { issuer: 'https://mine.test' } } }
    assert.equal((await fail(updateIdentityProvider, changeIssuer, admin.token)).code, 7)
  },

  async 'creating a provider also requires role_bindings.create'(stage) {
    const { fail, platform, owner } = stage
    const creator = await platform.addIdentityWith(owner.organization, ['CAP_IAM_IDENTITY_PROVIDERS_CREATE'])
    const request = requestOf(stage, { oidc, defaultRole: creator.role })
    const error = await fail(createIdentityProvider, request, creator.token)
    assert.match(error.message, /role_bindings\.create denied/)
  },

  async 'a role that is the default of a provider cannot be deleted'(stage) {
    const { owner, succeed, fail } = stage
    const role = { name: 'default', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const roleUid = await make(stage, createRole, { parent: owner.organization, role })
    const uid = await make(stage, createIdentityProvider, requestOf(stage, { oidc, defaultRole: roleUid }))
    assert.equal((await fail(deleteRole, { uid: roleUid })).code, 9)
    await succeed(deleteIdentityProvider, { uid })
    assert.equal((await fail(deleteIdentityProvider, { uid })).code, 5)
    await succeed(deleteRole, { uid: roleUid })
  },
})
