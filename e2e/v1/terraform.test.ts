// The calls of infrastructure tools such as Terraform, which write through v2 and read with the lists of v1.
import assert from 'node:assert/strict'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentityProviders } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { Roles } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { examples } from '../contract/examples.ts'

const { createGroup, deleteGroup } = GroupsService.method
const roleUid = builtInRole('viewer').uid

type Step = {
  create: DescMethod
  request: JsonObject
  destroy: DescMethod
  list: DescMethod
  /** The field of the list request that selects the resource by its uid. Default: `id`. */
  filter?: string
}

/** In order of creation; resources are destroyed in reverse order. */
const steps: Step[] = [
  {
    create: createGroup,
    request: { group: { name: 'team' } },
    destroy: deleteGroup,
    list: Groups.method.list,
  },
  {
    create: RolesService.method.createRole,
    request: { role: { name: 'reader', capabilities: ['CAP_IAM_GROUPS_LIST'] } },
    destroy: RolesService.method.deleteRole,
    list: Roles.method.list,
  },
  {
    create: IdentityProvidersService.method.createIdentityProvider,
    request: {
      identityProvider: {
        ...{ name: 'sso', defaultRole: roleUid },
        oidc: { issuer: 'https://sso.test', clientId: 'a', clientSecret: 'b' },
      },
    },
    destroy: IdentityProvidersService.method.deleteIdentityProvider,
    list: IdentityProviders.method.list,
  },
  {
    create: GroupInvitesService.method.createGroupInvite,
    request: { groupInvite: { roleUid, ttl: '60s' } },
    destroy: GroupInvitesService.method.deleteGroupInvite,
    list: GroupInvites.method.list,
  },
  {
    create: AccountAssociationsService.method.createAccountAssociation,
    request: { accountAssociation: { name: 'accounts', amazon: { account: '123456789012' } } },
    destroy: AccountAssociationsService.method.deleteAccountAssociation,
    list: GroupAccountAssociations.method.list,
    filter: 'group',
  },
]

examples('an organization that a tool creates and destroys', {
  async 'can be listed with a token exchanged after its creation, and leaves nothing behind'({
    succeed,
    owner,
  }) {
    const { uid: organization } = await succeed(createGroup, { group: { name: 'applied' } })
    const parent = organization as string
    const { token } = await succeed(SecurityTokenService.method.exchange, {}, owner.token)
    assert.notEqual(token, owner.token)
    const call = (method: DescMethod, request: JsonObject) => succeed(method, request, token as string)
    const list = async (method: DescMethod, filter: string, uid: string) =>
      (await call(method, { [filter]: uid })).items as JsonObject[]
    assert.equal((await list(Groups.method.list, 'id', parent)).length, 1)

    const made: { step: Step; uid: string }[] = []
    const make = async (step: Step) => {
      const { uid } = await call(step.create, { parent, ...step.request })
      made.push({ step, uid: uid as string })
      return uid as string
    }
    for (const step of steps) await make(step)
    const identityUid = await make({
      create: IdentitiesService.method.createIdentity,
      request: { identity: { name: 'robot', claimMatch: { issuer: 'https://ci.test', subject: 'robot' } } },
      destroy: IdentitiesService.method.deleteIdentity,
      list: Identities.method.list,
    })
    await make({
      create: RoleBindingsService.method.createRoleBinding,
      request: { roleBinding: { identityUid, roleUid } },
      destroy: RoleBindingsService.method.deleteRoleBinding,
      list: RoleBindings.method.list,
    })
    for (const { step, uid } of made.reverse()) {
      const { list: method, filter = 'id' } = step
      assert.equal((await list(method, filter, uid)).length, 1, method.parent.name)
      await call(step.destroy, { uid })
      assert.deepEqual(await list(method, filter, uid), [], method.parent.name)
    }
    await call(deleteGroup, { uid: parent })
    assert.deepEqual(await list(Groups.method.list, 'id', parent), [])
  },
})
