// External group role mappings. Each gives a role to the members of a group at an identity
// provider. It has a role binding, so grants and lists of role bindings need no special case for
// mappings.
import { create } from '@bufbuild/protobuf'
import type {
  BatchDeleteExternalGroupRoleMappingsRequest,
  CreateExternalGroupRoleMappingRequest,
  ExternalGroupRoleMapping,
  ListExternalGroupRoleMappingsRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import {
  BatchDeleteExternalGroupRoleMappingsResponseSchema as BatchDeleteResponseSchema,
  ExternalGroupRoleMappingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { messageOf } from '../../kind.ts'
import { listResources } from '../../list.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { defineResource } from '../../resource.ts'
import { lockProvider, removeMapping, removeUnmappedMembers } from '../remove-mappings.ts'
import { createMapping } from './create-mapping.ts'
import { externalGroupRoleMappings } from './table.ts'

function externalGroupRoleMappingsMethods(deps: Dependencies) {
  const { store } = deps
  return {
    getExternalGroupRoleMapping: (call: Call) => getResource(store, externalGroupRoleMappings, call),

    listExternalGroupRoleMappings: (call: Call<ListExternalGroupRoleMappingsRequest>) =>
      listResources(deps, externalGroupRoleMappings, call, { parent: call.request.identityProviderUid }),

    createExternalGroupRoleMapping: (call: Call<CreateExternalGroupRoleMappingRequest>) =>
      createOnce(deps, call, (grants) => createMapping(deps, call, grants)),

    async deleteExternalGroupRoleMapping(call: Call) {
      let unmappedGroup: string | undefined
      const reply = await deleteResource(deps, externalGroupRoleMappings, call, {
        isIdempotent: true,
        *beforeDelete(uid) {
          const [mapping] = yield* findMappings([uid])
          yield* requireFreshSignInForRole(deps, call.demand.caller, mapping?.roleUid)
        },
        *remove(access, uid) {
          unmappedGroup = yield* removeMapping(access, uid)
        },
      })
      if (unmappedGroup !== undefined)
        await removeMemberships(deps, call, parentOf(call.demand.scope), [unmappedGroup])
      return reply
    },

    async batchDeleteExternalGroupRoleMappings(call: Call<BatchDeleteExternalGroupRoleMappingsRequest>) {
      const unmappedGroups: (string | undefined)[] = []
      const reply = await store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { parent, names } = call.request
        requireChildren(parent, names)
        yield* lockProvider(parent)
        const deleted = yield* findMappings(names)
        yield* requireFreshSignInForRole(deps, call.demand.caller, ...deleted.map(({ roleUid }) => roleUid))
        for (const { uid } of deleted) unmappedGroups.push(yield* removeMapping(access, uid))
        const response = create(BatchDeleteResponseSchema, { parent, externalGroupRoleMappings: deleted })
        return messageReply(BatchDeleteResponseSchema, response)
      }, call.deadline)
      const groups = unmappedGroups.filter((group) => group !== undefined)
      await removeMemberships(deps, call, call.request.parent, groups)
      return reply
    },
  }
}

/**
 * Deletes the memberships in external groups whose last mapping was deleted, in separate
 * transactions, because there may be many. If the call is interrupted, some remain. They give no
 * role unless the group is mapped again, but count towards the membership limit of each identity.
 */
async function removeMemberships(
  { store }: Dependencies,
  { deadline }: Pick<Call, 'deadline'>,
  provider: string,
  groups: readonly string[],
): Promise<void> {
  for (const group of groups)
    while (await store.write(() => removeUnmappedMembers(provider, group), deadline));
}

export const externalGroupRoleMappingsResource = defineResource({
  kind: externalGroupRoleMappings,
  service: ExternalGroupRoleMappingsService,
  methods: externalGroupRoleMappingsMethods,
})

function requireChildren(parent: string, names: readonly string[]): void {
  const at = names.findIndex((name) => parentOf(name) !== parent)
  if (at >= 0)
    throw invalidField(`names[${at}]`, 'must be the uid of a mapping of the identity provider `parent`')
}

function* findMappings(uids: readonly string[]): Work<ExternalGroupRoleMapping[]> {
  const rows = yield sql`select proto from external_group_role_mappings
    where uid in ${among(uids)} order by uid`
  return rows.map(([proto]) => messageOf(externalGroupRoleMappings, proto as Uint8Array))
}
