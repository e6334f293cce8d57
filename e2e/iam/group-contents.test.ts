// A group that is not empty cannot be deleted, and the error names its contents.
import assert from 'node:assert/strict'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { exampleOf } from '@stemma/api/reference/examples.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make } from '../contract/examples.ts'
import { plainResources } from './world.ts'

const { createGroup, deleteGroup } = GroupsService.method
const viewer = builtInRole('viewer').uid

type Content = [
  kind: string,
  create: DescMethod,
  remove: DescMethod,
  /** The field of the create request that contains the resource. */
  resourceField: (stage: ExampleContext) => JsonObject,
]

const contents: Content[] = [
  ['groups', createGroup, deleteGroup, () => ({ group: { name: 'inner' } })],
  [
    'identities',
    IdentitiesService.method.createIdentity,
    IdentitiesService.method.deleteIdentity,
    () => ({ identity: { name: 'robot', servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' } }),
  ],
  [
    'roles',
    RolesService.method.createRole,
    RolesService.method.deleteRole,
    () => ({ role: { name: 'own', capabilities: ['CAP_IAM_GROUPS_LIST'] } }),
  ],
  [
    'role bindings',
    RoleBindingsService.method.createRoleBinding,
    RoleBindingsService.method.deleteRoleBinding,
    ({ owner }) => ({ roleBinding: { identityUid: owner.identity, roleUid: viewer } }),
  ],
  [
    'identity providers',
    IdentityProvidersService.method.createIdentityProvider,
    IdentityProvidersService.method.deleteIdentityProvider,
    () => ({
      identityProvider: {
        name: 'sso',
        defaultRole: viewer,
        oidc: { issuer: 'https://sso.test', clientId: 'x', pkceEnabled: true },
      },
    }),
  ],
  [
    'account associations',
    AccountAssociationsService.method.createAccountAssociation,
    AccountAssociationsService.method.deleteAccountAssociation,
    () => ({ accountAssociation: { name: 'accounts' } }),
  ],
  [
    'group invites',
    GroupInvitesService.method.createGroupInvite,
    GroupInvitesService.method.deleteGroupInvite,
    () => ({ groupInvite: { roleUid: viewer, ttl: '60s' } }),
  ],
  ...plainResources.map(({ kind, service }): Content => {
    const [create, remove] = ['Create', 'Delete'].map((verb) =>
      service.methods.find(({ name }) => name.startsWith(verb)),
    )
    if (!create || !remove) throw new Error(`${service.name} has no Create and Delete`)
    const field = describeMethod(create).resource?.jsonName ?? ''
    return [
      kind.table.name.replaceAll('_', ' '),
      create,
      remove,
      () => ({ [field]: exampleOf(kind.desc, 'create') }),
    ]
  }),
]

examples('the contents of groups', {
  async 'prevent the deletion of the group, whatever their kind'(stage) {
    for (const [kind, create, remove, resourceField] of contents) {
      const uid = await make(stage, createGroup, {
        parent: stage.owner.organization,
        group: { name: 'team' },
      })
      const child = await make(stage, create, { parent: uid, ...resourceField(stage) })
      const error = await stage.fail(deleteGroup, { uid })
      assert.equal(error.code, 9)
      assert.deepEqual(detail(error, 'PreconditionFailure')?.violations, [
        { type: 'RESOURCE_NOT_EMPTY', description: `cannot delete group with child ${kind}` },
      ])
      await stage.succeed(remove, { uid: child })
      assert.deepEqual(await stage.succeed(deleteGroup, { uid }), {})
    }
  },

  async 'are all named in the error'(stage) {
    const uid = await make(stage, createGroup, { parent: stage.owner.organization, group: { name: 'team' } })
    for (const [, create, , resourceField] of contents)
      await make(stage, create, { parent: uid, ...resourceField(stage) })
    const { message } = await stage.fail(deleteGroup, { uid })
    const kinds = contents.map(([kind]) => kind).sort()
    assert.equal(message, `Precondition failed: cannot delete group with child ${kinds.join(', ')}`)
  },
})
