// Identity providers through v1: the client secret is stored and never returned.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { IdentityProviders } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const v1 = IdentityProviders.method
const v2 = IdentityProvidersService.method

const defaultRole = builtInRole('viewer').uid
const oidc = { issuer: 'https://sso.test', clientId: 'stemma', additionalScopes: ['groups', 'email'] }
const provider = { name: 'sso', description: 'ours', defaultRole, oidc }
const secret = 'hush hush'
const withSecret = { ...provider, oidc: { ...oidc, clientSecret: secret } }

const create = ({ succeed, owner }: ExampleContext, identityProvider: JsonObject = withSecret) =>
  succeed(v1.create, { parentId: owner.organization, identityProvider })

async function secretOf({ platform }: ExampleContext, id: unknown): Promise<string> {
  const [row] = await platform.store.query(
    sql`select client_secret from identity_providers where uid = ${id as string}`,
  )
  const sealed = Buffer.from(row?.[0] as string, 'base64url')
  return platform.secret.open('identity provider', sealed).toString()
}

examples('identity providers of v1', {
  async 'a provider created by v1 is visible in v2, and its secret is never returned'(stage) {
    const { id, ...rest } = await create(stage)
    const shown = {
      ...oidc,
      ...{ groupsClaim: '', pkceEnabled: false },
      correlationRule: 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID',
    }
    assert.deepEqual(rest, { ...provider, oidc: shown })
    const stored = await stage.succeed(v2.getIdentityProvider, { uid: id as string })
    assert.deepEqual([stored.name, stored.defaultRole, stored.oidc], ['sso', defaultRole, shown])
    assert.equal(await secretOf(stage, id), secret)
    const listed = { id, ...rest, scim: stored.scim }
    assert.deepEqual(await stage.succeed(v1.list, { id: id as string }), { items: [listed] })
  },

  async 'an update replaces all fields, but keeps an omitted secret'(stage) {
    const { succeed, fail } = stage
    const { id } = await create(stage)
    const { description, oidc: updated } = await succeed(v1.update, {
      ...{ id: id as string, name: 'sso', defaultRole },
      oidc: { issuer: oidc.issuer, clientId: 'other' },
    })
    assert.equal(description, '')
    const { clientId, additionalScopes, correlationRule } = updated as JsonObject
    assert.deepEqual([clientId, additionalScopes], ['other', []])
    assert.equal(correlationRule, 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID')
    assert.equal(await secretOf(stage, id), secret)
    await succeed(v1.update, { id: id as string, ...provider, oidc: { ...oidc, clientSecret: 'another' } })
    assert.equal(await secretOf(stage, id), 'another')
    const moved = { id: id as string, ...provider, oidc: { ...oidc, issuer: 'https://else.test' } }
    assert.deepEqual(violations(await fail(v1.update, moved)), ['oidc.clientSecret'])
    assert.deepEqual(violations(await fail(v1.update, { id: id as string, ...provider, defaultRole: '' })), [
      'defaultRole',
    ])
  },

  async 'lists can be filtered by name and by group, and omit deleted providers'(stage) {
    const { succeed } = stage
    const { id } = await create(stage)
    await create(stage, { ...withSecret, name: 'second' })
    const namesOf = async (filter: JsonObject) =>
      ((await succeed(v1.list, filter)).items as JsonObject[]).map(({ name }) => name)
    assert.deepEqual(await namesOf({ name: 'second' }), ['second'])
    assert.equal((await namesOf({ uidp: { childrenOf: stage.owner.organization } })).length, 2)
    await succeed(v1.delete, { id: id as string })
    assert.deepEqual(await namesOf({ id: id as string }), [])
  },

  async 'the default role must not have capabilities that the caller lacks'({ fail, platform, owner }) {
    const capabilities = ['CAP_IAM_IDENTITY_PROVIDERS_CREATE', 'CAP_IAM_ROLE_BINDINGS_CREATE'] as const
    const maker = await platform.addIdentityWith(owner.organization, [...capabilities])
    const request = { parentId: owner.organization, identityProvider: withSecret }
    assert.equal((await fail(v1.create, request, maker.token)).code, 7)
  },
})
