// Access through external groups, and suspensions, for tests of `AccessService`.
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { replaceMemberships } from '../../server/store/external-groups.ts'
import { sql } from '../../server/store/sql.ts'
import { updateSuspended } from '../../server/store/suspensions.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { make } from '../contract/examples.ts'

/**
 * Creates an identity provider whose external group `developers` has `role` in the group `scope`.
 * Returns the uid of the provider.
 */
export async function addExternalGroup(stage: ExampleContext, scope: string, role: string): Promise<string> {
  const provider = await make(stage, IdentityProvidersService.method.createIdentityProvider, {
    parent: stage.owner.organization,
    identityProvider: {
      name: 'sso',
      defaultRole: builtInRole('viewer').uid,
      oidc: { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush', groupsClaim: 'groups' },
    },
  })
  await make(stage, ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, {
    parent: provider,
    externalGroupRoleMapping: { externalGroupId: 'developers', roleUid: builtInRole(role).uid, scope },
  })
  return provider
}

export const addMember = (
  { platform }: ExampleContext,
  provider: string,
  identity: string,
  expireTime: number,
  source: 'sign-in' | 'scim' = 'sign-in',
) => platform.store.write(() => replaceMemberships(provider, identity, source, ['developers'], expireTime))

/**
 * As if the provider had deactivated the person by SCIM: their role bindings at and below the group
 * `place` do not count.
 */
export const suspend = ({ platform }: ExampleContext, provider: string, identity: string, place: string) =>
  platform.store.write(function* () {
    yield sql`insert into provider_sign_outs (identity, provider, second, place)
      values (${identity}, ${provider}, 0, ${place})`
    yield* updateSuspended(identity)
  })
