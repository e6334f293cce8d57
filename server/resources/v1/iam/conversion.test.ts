// Resources go from v1 to v2 and back unchanged, and lie on the wire where published clients look for them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescEnum, DescMessage } from '@bufbuild/protobuf'
import { create, fromJson, toJson } from '@bufbuild/protobuf'
import { AccountAssociationsSchema } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { GroupInviteRequestSchema } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  GroupSchema as OldGroupSchema,
  OrgKindSchema as OldKindSchema,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import {
  Identity_AWSIdentitySchema as OldAwsSchema,
  IdentitySchema as OldIdentitySchema,
  Identity_StaticKeysSchema as OldKeysSchema,
  ServicePrincipalSchema as OldPrincipalSchema,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import {
  IdentityProviderSchema as OldProviderSchema,
  IdentityProvider_OIDC_CorrelationRuleSchema as OldRuleSchema,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleSchema as OldRoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
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
import { associationOf, oldAssociationOf } from './account-associations/conversion.ts'
import { inviteOf, oldInviteOf, storedInviteOf } from './group-invites/conversion.ts'
import { groupOf, oldGroupOf } from './groups/conversion.ts'
import { identityOf, oldIdentityOf } from './identities/conversion.ts'
import { oldProviderOf, providerOf } from './identity-providers/conversion.ts'
import { oldRoleOf, roleOf } from './roles/conversion.ts'

const numbersOf = ({ fields }: DescMessage) =>
  Object.fromEntries(fields.map(({ name, number }) => [name, number]))
const valuesOf = ({ values }: DescEnum, prefix = '') =>
  values.slice(1).map(({ name, number }) => [number, name.replace(prefix, '')])

describe('the wire of v1', () => {
  test('has the numbers that v2 changed', () => {
    const { kind, status } = numbersOf(OldGroupSchema)
    assert.deepEqual([kind, status], [6, 7])
    assert.deepEqual(numbersOf(OldIdentitySchema), {
      ...{ id: 1, name: 2, description: 3, created_at: 4, updated_at: 5, last_seen: 9 },
      ...{ claim_match: 10, static: 11, service_principal: 12, aws_identity: 13 },
    })
    assert.deepEqual(numbersOf(OldKeysSchema), {
      ...{ issuer: 1, subject: 2, issuer_keys: 4, expiration: 5, audiences: 6 },
    })
    assert.deepEqual(numbersOf(OldAwsSchema), {
      ...{ aws_account: 1, arn: 3, arn_pattern: 4, user_id: 5, user_id_pattern: 6 },
    })
    assert.deepEqual(numbersOf(AccountAssociationsSchema), {
      ...{ group: 1, amazon: 2, google: 3, name: 4, description: 5, chainguard: 7, azure: 8, github: 9 },
    })
  })

  test('numbers the values of enums as v2 does, so that numbers carry them over', () => {
    assert.deepEqual(valuesOf(OldPrincipalSchema), valuesOf(ServicePrincipalSchema, 'SERVICE_PRINCIPAL_'))
    assert.deepEqual(valuesOf(OldKindSchema), valuesOf(OrgKindSchema))
    assert.deepEqual(valuesOf(OldRuleSchema), valuesOf(RuleSchema))
  })
})

describe('from v1 to v2 and back', () => {
  test('groups tell the same, and no kind is none', () => {
    const group = create(GroupSchema, {
      ...{ uid: 'u', name: 'n', description: 'd', resourceLimits: { repositories: 3 } },
      ...{ verified: true, kind: OrgKind.DEV, status: OrgStatus.READY },
    })
    const old = oldGroupOf(group)
    assert.deepEqual(toJson(OldGroupSchema, old), {
      ...{ id: 'u', name: 'n', description: 'd', resourceLimits: { repositories: 3 } },
      ...{ verified: true, kind: 'ORG_KIND_DEV', status: 'ORG_STATUS_READY' },
    })
    assert.deepEqual(groupOf(old), { name: 'n', description: 'd', verified: true, kind: OrgKind.DEV })
    assert.ok(!('kind' in groupOf(create(OldGroupSchema))))
  })

  test('roles keep the names of their capabilities; what is none becomes the number that is none', () => {
    const capabilities = ['groups.list', 'identity.create']
    const old = create(OldRoleSchema, { name: 'n', description: 'd', capabilities })
    assert.deepEqual(oldRoleOf(create(RoleSchema, roleOf(old))), old)
    const wrong = create(OldRoleSchema, { capabilities: ['groups.list', 'groups.fly', ''] })
    assert.deepEqual(roleOf(wrong).capabilities, [103, 0, 0])
  })

  const expiration = '2026-01-02T03:04:05Z'
  const claims = { claims: { a: 'b' }, claimPatterns: { c: 'd.*' } }
  for (const way of [
    { claimMatch: { issuer: 'i', subject: 's', audience: 'a', ...claims } },
    { claimMatch: { issuerPattern: 'i', subjectPattern: 's', audiencePattern: 'a' } },
    { static: { issuer: 'i', subject: 's', issuerKeys: '{}', expiration, audiences: ['a'] } },
    { static: { issuer: 'i', subject: 's', issuerKeys: '{}' } },
    { servicePrincipal: 'INGESTER' },
    { awsIdentity: { awsAccount: '1', arn: 'a', userId: 'u' } },
    { awsIdentity: { awsAccount: '1', arnPattern: 'a', userIdPattern: 'u' } },
    {},
  ])
    test(`an identity stays as it is: ${JSON.stringify(way)}`, () => {
      const told = { id: 'u', name: 'n', description: 'd', ...way }
      const back = oldIdentityOf(identityOf(fromJson(OldIdentitySchema, told), 'u'))
      assert.deepEqual(toJson(OldIdentitySchema, back), told)
    })

  test('providers keep all that is said of them', () => {
    const told = {
      ...{ id: 'u', name: 'n', description: 'd', defaultRole: 'r' },
      oidc: {
        ...{ issuer: 'i', clientId: 'c', clientSecret: 's', additionalScopes: ['b', 'a'], groupsClaim: 'g' },
        ...{ correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID', pkceEnabled: true },
      },
    }
    const back = oldProviderOf(providerOf(fromJson(OldProviderSchema, told), 'u'))
    assert.deepEqual(toJson(OldProviderSchema, back), told)
    const bare = create(OldProviderSchema, { id: 'u' })
    assert.deepEqual(oldProviderOf(providerOf(bare, 'u')), bare)
  })

  test('associations keep all of their accounts', () => {
    const told = {
      ...{ group: 'u', name: 'n', description: 'd', amazon: { account: '1' } },
      ...{ google: { projectId: 'p', projectNumber: '2' }, azure: { tenantId: 't', clientIds: { a: 'b' } } },
      chainguard: { serviceBindings: { s: 'i' } },
      github: { appInstallations: { 7: { installations: [{ installationId: '9', name: 'n' }] } } },
    }
    const back = oldAssociationOf(associationOf(fromJson(AccountAssociationsSchema, told), 'u'))
    assert.deepEqual(toJson(AccountAssociationsSchema, back), told)
    const bare = create(AccountAssociationsSchema, { group: 'u' })
    assert.deepEqual(oldAssociationOf(associationOf(bare, 'u')), bare)
  })

  test('an invite tells its code once', () => {
    const asked = create(GroupInviteRequestSchema, { role: 'r', email: 'e', singleUse: true })
    assert.deepEqual(inviteOf(asked), { roleUid: 'r', email: 'e', singleUse: true })
    const invite = create(GroupInviteSchema, { ...inviteOf(asked), uid: 'u', keyId: 'k', code: 'c' })
    assert.equal(oldInviteOf(invite).code, 'c')
    const stored = storedInviteOf(invite)
    assert.deepEqual([stored.id, stored.keyId, stored.role?.id, stored.email], ['u', 'k', 'r', 'e'])
    assert.ok(!('code' in stored))
  })
})
