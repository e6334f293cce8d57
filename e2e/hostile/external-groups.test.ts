// Attacks on external group role mappings: getting capabilities that one does not have, and making searches expensive.
import assert from 'node:assert/strict'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { capabilityOf } from '../../server/policy/capabilities.ts'
import { readHolders } from '../../server/resources/iam/access/holders.ts'
import { externalGroupUid } from '../../server/store/external-groups.ts'
import { isStoreError } from '../../server/store/test-stores.ts'
import type { CapabilityName } from '../../server/testing/identities.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { addExternalGroup, addMember } from '../iam/external-access.ts'

const { createExternalGroupRoleMapping, deleteExternalGroupRoleMapping } =
  ExternalGroupRoleMappingsService.method
const { createIdentityProvider, updateIdentityProvider } = IdentityProvidersService.method
const { generateScimToken, regenerateScimToken, revokeScimToken, setScimEnabled } =
  IdentityProvidersService.method
const { createRoleBinding, batchCreateRoleBindings } = RoleBindingsService.method
const { getIdentity, updateIdentity, deleteIdentity } = IdentitiesService.method
const { createGroup } = GroupsService.method

const [viewer, owner] = [builtInRole('viewer').uid, builtInRole('owner').uid]
const identityProvider = {
  name: 'sso',
  defaultRole: viewer,
  oidc: { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush' },
}
const administrator: CapabilityName[] = [
  'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
  'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
  'CAP_IAM_ROLE_BINDINGS_CREATE',
]

const makeProvider = (stage: ExampleContext, parent = stage.owner.organization) =>
  make(stage, createIdentityProvider, { parent, identityProvider })
const mapping = (parent: string, roleUid: string, scope: string) => ({
  parent,
  externalGroupRoleMapping: { externalGroupId: 'developers', roleUid, scope },
})

examples('an administrator of identity providers', {
  async 'cannot map a role that they do not have'(stage) {
    const { platform, fail, succeed } = stage
    const { organization } = stage.owner
    const provider = await makeProvider(stage)
    const admin = await platform.addIdentityWith(organization, administrator)
    await platform.bind(admin.identity, 'viewer', organization)
    const error = await fail(
      createExternalGroupRoleMapping,
      mapping(provider, owner, organization),
      admin.token,
    )
    assert.equal(error.code, 7)
    await succeed(createExternalGroupRoleMapping, mapping(provider, viewer, organization), admin.token)
  },

  async 'cannot grant roles outside the group of their provider'(stage) {
    const { platform, fail, owner: organizationOwner } = stage
    const { organization } = organizationOwner
    const team = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
    const beside = await make(stage, createGroup, { parent: organization, group: { name: 'beside' } })
    const teamOwner = await platform.addIdentity(team, 'owner')
    const { uid: provider } = (await stage.succeed(
      createIdentityProvider,
      { parent: team, identityProvider },
      teamOwner.token,
    )) as { uid: string }
    const otherOrganization = (await platform.addOrganization('other')).organization
    // Not even the owner of the organization can: the owners of the team decide what the provider asserts.
    for (const token of [teamOwner.token, organizationOwner.token])
      for (const scope of [organization, beside, otherOrganization]) {
        const error = await fail(createExternalGroupRoleMapping, mapping(provider, viewer, scope), token)
        assert.deepEqual([error.code, violations(error)], [3, ['scope']])
      }
  },

  async 'cannot take over the mapped roles by changing the provider'(stage) {
    const { platform, fail, succeed } = stage
    const { organization } = stage.owner
    const team = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
    const provider = await makeProvider(stage)
    const admin = await platform.addIdentityWith(organization, administrator)
    await platform.bind(admin.identity, 'viewer', organization)
    const changes = [
      { oidc: { issuer: 'https://mine.test', clientSecret: 'mine' } },
      { oidc: { clientId: 'mine' } },
      { oidc: { groupsClaim: 'name' } },
    ]
    const uid = await make(stage, createExternalGroupRoleMapping, mapping(provider, owner, team))
    for (const change of changes) {
      const error = await fail(
        updateIdentityProvider,
        { identityProvider: { uid: provider, ...change } },
        admin.token,
      )
      assert.equal(error.code, 7)
    }
    // The role is needed only where it applies.
    await platform.bind(admin.identity, 'owner', team)
    await succeed(
      updateIdentityProvider,
      { identityProvider: { uid: provider, oidc: { groupsClaim: 'groups' } } },
      admin.token,
    )
    await platform.unbind(admin.identity, team)
    await succeed(deleteExternalGroupRoleMapping, { uid })
    const change = { identityProvider: { uid: provider, oidc: { groupsClaim: 'roles' } } }
    await succeed(updateIdentityProvider, change, admin.token)
  },

  async 'cannot send groups by SCIM without the mapped roles'(stage) {
    const { platform, fail, succeed } = stage
    const { organization } = stage.owner
    const provider = await makeProvider(stage)
    const admin = await platform.addIdentityWith(organization, [
      ...(['CAP_IAM_SCIM_MANAGE', 'CAP_IAM_IDENTITY_PROVIDERS_LIST'] as const),
    ])
    const named = { identityProviderUid: provider }
    // Not with `succeed`, which compares the responses of both doors: the tokens differ.
    const { body } = await stage.door.call(generateScimToken, named, admin.token)
    assert.ok(body?.token)
    const uid = await make(stage, createExternalGroupRoleMapping, mapping(provider, owner, organization))
    const sent = { ...named, etag: body.etag as string }
    assert.equal((await fail(regenerateScimToken, sent, admin.token)).code, 7)
    // SCIM needs two owners. The external group that is mapped to the role does not count as one.
    const enable = await fail(setScimEnabled, { ...sent, enabled: true })
    assert.deepEqual([enable.code, /two identities/.test(enable.message)], [9, true])
    assert.equal((await fail(setScimEnabled, { ...sent, enabled: true }, admin.token)).code, 7)
    await succeed(revokeScimToken, named, admin.token)
    await succeed(deleteExternalGroupRoleMapping, { uid })
  },

  async 'needs to be allowed to create providers and role bindings in the group of the provider'(stage) {
    const { platform, fail } = stage
    const { organization } = stage.owner
    const team = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
    const provider = await makeProvider(stage)
    const request = mapping(provider, viewer, team)
    const onlyProviders = await platform.addIdentityWith(organization, ['CAP_IAM_IDENTITY_PROVIDERS_CREATE'])
    const onlyBindings = await platform.addIdentityWith(organization, ['CAP_IAM_ROLE_BINDINGS_CREATE'])
    // An owner of the scope has no say about a provider of the group above.
    const ownerOfScope = await platform.addIdentity(team, 'owner')
    for (const { token } of [onlyProviders, onlyBindings, ownerOfScope])
      assert.equal((await fail(createExternalGroupRoleMapping, request, token)).code, 7)
  },
})

examples('the row of an external group', {
  async 'cannot be bound, read, changed or deleted as an identity'(stage) {
    const { fail } = stage
    const { organization } = stage.owner
    const provider = await makeProvider(stage)
    const team = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
    await make(stage, createExternalGroupRoleMapping, mapping(provider, viewer, team))
    const uid = externalGroupUid(provider, 'developers')
    const roleBinding = { identityUid: uid, roleUid: viewer }
    const error = await fail(createRoleBinding, { parent: organization, roleBinding })
    assert.deepEqual([error.code, violations(error)], [3, ['identityUid']])
    const requests = [{ roleBinding }]
    assert.equal((await fail(batchCreateRoleBindings, { parent: organization, requests })).code, 3)
    assert.equal((await fail(getIdentity, { uid })).code, 7)
    assert.equal((await fail(updateIdentity, { identity: { uid, name: 'mine' } })).code, 7)
    assert.equal((await fail(deleteIdentity, { uid })).code, 7)
  },
})

examples('a search for the identities with access', {
  async 'counts the role bindings and the members of external groups that it reads towards its limit'(stage) {
    const { platform } = stage
    const { organization, identity: ownerUid } = stage.owner
    const provider = await addExternalGroup(stage, organization, 'viewer')
    const members: string[] = []
    for (let count = 0; count < 3; count++) {
      const { identity } = await platform.addIdentity(organization)
      await addMember(stage, provider, identity, Date.now() + 60_000)
      members.push(identity)
    }
    const bit = capabilityOf(Capability.CAP_IAM_GROUPS_LIST)?.bit
    assert.ok(bit !== undefined)
    const query = { uid: organization, bits: [bit], time: Date.now(), after: '', size: 10 }
    const search = async (maxRows: number) => platform.store.read(() => readHolders({ ...query, maxRows }))
    // The role bindings of the owner and of the external group, and three members.
    const { uids } = await search(5)
    assert.deepEqual(uids, [ownerUid, ...members].toSorted())
    await assert.rejects(search(4), isStoreError('expensive'))
    await assert.rejects(search(1), isStoreError('expensive'))
  },
})
