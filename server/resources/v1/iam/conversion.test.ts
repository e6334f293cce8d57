// Resources convert from v1 to v2 and back unchanged, and v1 messages have the field numbers of published clients.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescEnum, DescMessage } from '@bufbuild/protobuf'
import { create, fromJson, toJson } from '@bufbuild/protobuf'
import { AccountAssociationsSchema } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { GroupInviteRequestSchema } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  GroupSchema as V1GroupSchema,
  OrgKindSchema as V1KindSchema,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import {
  Identity_AWSIdentitySchema as V1AwsSchema,
  IdentitySchema as V1IdentitySchema,
  Identity_StaticKeysSchema as V1KeysSchema,
  ServicePrincipalSchema as V1PrincipalSchema,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import {
  IdentityProviderSchema as V1ProviderSchema,
  IdentityProvider_OIDC_CorrelationRuleSchema as V1RuleSchema,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleSchema as V1RoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import {
  GroupSchema,
  OrgKind,
  OrgKindSchema,
  OrgStatus,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { ServicePrincipalSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvider_OIDC_CorrelationRuleSchema as RuleSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { associationFromV1, associationToV1 } from './account-associations/conversion.ts'
import { inviteFromV1, inviteToV1, storedInviteToV1 } from './group-invites/conversion.ts'
import { groupFromV1, groupToV1 } from './groups/conversion.ts'
import { identityFromV1, identityToV1 } from './identities/conversion.ts'
import { providerFromV1, providerToV1 } from './identity-providers/conversion.ts'
import { roleFromV1, roleToV1 } from './roles/conversion.ts'

const numbersOf = ({ fields }: DescMessage) =>
  Object.fromEntries(fields.map(({ name, number }) => [name, number]))
const valuesOf = ({ values }: DescEnum, prefix = '') =>
  values.slice(1).map(({ name, number }) => [number, name.replace(prefix, '')])

describe('wire format of v1', () => {
  test('has the field numbers of published clients, in messages whose numbers differ in v2', () => {
    const { kind, status } = numbersOf(V1GroupSchema)
    assert.deepEqual([kind, status], [6, 7])
    assert.deepEqual(numbersOf(V1IdentitySchema), {
      ...{ id: 1, name: 2, description: 3, created_at: 4, updated_at: 5, last_seen: 9 },
      ...{ claim_match: 10, static: 11, service_principal: 12, aws_identity: 13 },
    })
    assert.deepEqual(numbersOf(V1KeysSchema), {
      ...{ issuer: 1, subject: 2, issuer_keys: 4, expiration: 5, audiences: 6 },
    })
    assert.deepEqual(numbersOf(V1AwsSchema), {
      ...{ aws_account: 1, arn: 3, arn_pattern: 4, user_id: 5, user_id_pattern: 6 },
    })
    assert.deepEqual(numbersOf(AccountAssociationsSchema), {
      ...{ group: 1, amazon: 2, google: 3, name: 4, description: 5, chainguard: 7, azure: 8, github: 9 },
    })
  })

  test('numbers enum values as v2 does, so that they need no conversion', () => {
    assert.deepEqual(valuesOf(V1PrincipalSchema), valuesOf(ServicePrincipalSchema, 'SERVICE_PRINCIPAL_'))
    assert.deepEqual(valuesOf(V1KindSchema), valuesOf(OrgKindSchema))
    assert.deepEqual(valuesOf(V1RuleSchema), valuesOf(RuleSchema))
  })
})

describe('conversion from v1 to v2 and back', () => {
  test('keeps the fields of groups that callers can set, and leaves an unset kind absent', () => {
    const group = create(GroupSchema, {
      ...{ uid: 'u', name: 'n', description: 'd', resourceLimits: { repositories: 3 } },
      ...{ verified: true, kind: OrgKind.DEV, status: OrgStatus.READY },
    })
    const old = groupToV1(group)
    assert.deepEqual(toJson(V1GroupSchema, old), {
      ...{ id: 'u', name: 'n', description: 'd', resourceLimits: { repositories: 3 } },
      ...{ verified: true, kind: 'ORG_KIND_DEV', status: 'ORG_STATUS_READY' },
    })
    assert.deepEqual(groupFromV1(old), { name: 'n', description: 'd', verified: true, kind: OrgKind.DEV })
    assert.ok(!('kind' in groupFromV1(create(V1GroupSchema))))
  })

  test('keeps the capabilities of roles, and turns unknown names into UNKNOWN', () => {
    const capabilities = ['groups.list', 'identity.create']
    const old = create(V1RoleSchema, { name: 'n', description: 'd', capabilities })
    assert.deepEqual(roleToV1(create(RoleSchema, roleFromV1(old))), old)
    const wrong = create(V1RoleSchema, { capabilities: ['groups.list', 'groups.fly', ''] })
    assert.deepEqual(roleFromV1(wrong).capabilities, [103, 0, 0])
  })

  const expiration = '2026-01-02T03:04:05Z'
  const claims = { claims: { a: 'b' }, claimPatterns: { c: 'd.*' } }
  for (const relationship of [
    { claimMatch: { issuer: 'i', subject: 's', audience: 'a', ...claims } },
    { claimMatch: { issuerPattern: 'i', subjectPattern: 's', audiencePattern: 'a' } },
    { static: { issuer: 'i', subject: 's', issuerKeys: '{}', expiration, audiences: ['a'] } },
    { static: { issuer: 'i', subject: 's', issuerKeys: '{}' } },
    { servicePrincipal: 'INGESTER' },
    { awsIdentity: { awsAccount: '1', arn: 'a', userId: 'u' } },
    { awsIdentity: { awsAccount: '1', arnPattern: 'a', userIdPattern: 'u' } },
    {},
  ])
    test(`keeps identities with ${JSON.stringify(relationship)}`, () => {
      const json = { id: 'u', name: 'n', description: 'd', ...relationship }
      const back = identityToV1(identityFromV1(fromJson(V1IdentitySchema, json), 'u'))
      assert.deepEqual(toJson(V1IdentitySchema, back), json)
    })

  test('keeps all fields of identity providers', () => {
    const json = {
      ...{ id: 'u', name: 'n', description: 'd', defaultRole: 'r' },
      oidc: {
        ...{ issuer: 'i', clientId: 'c', clientSecret: 's', additionalScopes: ['b', 'a'], groupsClaim: 'g' },
        ...{ correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID', pkceEnabled: true },
      },
    }
    const back = providerToV1(providerFromV1(fromJson(V1ProviderSchema, json), 'u'))
    assert.deepEqual(toJson(V1ProviderSchema, back), json)
    const bare = create(V1ProviderSchema, { id: 'u' })
    assert.deepEqual(providerToV1(providerFromV1(bare, 'u')), bare)
  })

  test('keeps all accounts of account associations', () => {
    const json = {
      ...{ group: 'u', name: 'n', description: 'd', amazon: { account: '1' } },
      ...{ google: { projectId: 'p', projectNumber: '2' }, azure: { tenantId: 't', clientIds: { a: 'b' } } },
      chainguard: { serviceBindings: { s: 'i' } },
      github: { appInstallations: { 7: { installations: [{ installationId: '9', name: 'n' }] } } },
    }
    const back = associationToV1(associationFromV1(fromJson(AccountAssociationsSchema, json), 'u'))
    assert.deepEqual(toJson(AccountAssociationsSchema, back), json)
    const bare = create(AccountAssociationsSchema, { group: 'u' })
    assert.deepEqual(associationToV1(associationFromV1(bare, 'u')), bare)
  })

  test('returns the code of an invite on creation only', () => {
    const request = create(GroupInviteRequestSchema, { role: 'r', email: 'e', singleUse: true })
    assert.deepEqual(inviteFromV1(request), { roleUid: 'r', email: 'e', singleUse: true })
    const invite = create(GroupInviteSchema, { ...inviteFromV1(request), uid: 'u', keyId: 'k', code: 'c' })
    assert.equal(inviteToV1(invite).code, 'c')
    const stored = storedInviteToV1(invite)
    assert.deepEqual([stored.id, stored.keyId, stored.role?.id, stored.email], ['u', 'k', 'r', 'e'])
    assert.ok(!('code' in stored))
  })
})
