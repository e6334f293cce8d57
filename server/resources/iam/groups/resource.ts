// Groups. A group without a parent is an organization.
import type {
  CreateGroupRequest,
  ListGroupsRequest,
  UpdateGroupRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { operatorOnly } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import { restartPublicNames } from '../../../store/public-names.ts'
import { raw, sql } from '../../../store/sql.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { nameSearch } from '../../name-search.ts'
import { requireFreshSignInForOwnership } from '../../ownership.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { removeExpired } from '../expired-bindings.ts'
import { accessMethods } from './access-methods.ts'
import { admitToCreate, createGroup } from './create-group.ts'
import { limitMethods } from './limit-methods.ts'
import { requireEmpty } from './require-empty.ts'
import { requireOrganizationForSecondFactor } from './second-factor-requirement.ts'
import { groups } from './table.ts'

const groupsMethods = (deps: Dependencies) => ({
  getGroup: (call: Call) => getResource(deps.store, groups, call),

  listGroups: (call: Call<ListGroupsRequest>) =>
    listResources(deps, groups, call, {
      filters: equalTo(raw('name'), call.request.name),
      ...nameSearch(groups, call.request.nameContains),
    }),

  createGroup: (call: Call<CreateGroupRequest>) =>
    createOnce(
      deps,
      call,
      (grants) => createGroup(deps, call, grants),
      () => admitToCreate(deps, call),
    ),

  updateGroup: (call: Call<UpdateGroupRequest>) =>
    updateResource(deps, groups, call, {
      *beforeUpdate({ current, merged, grants, time }) {
        requireOrganizationForSecondFactor(merged, current.uid)
        if (current.name === merged.name) return
        if (current.verified) throw operatorOnly('name', current.uid)
        yield* restartPublicNames(grants, current.uid, time)
      },
    }),

  deleteGroup: (call: Call) =>
    deleteResource(deps, groups, call, {
      removeBatch: (uid, access) => removeExpired(access, deps.now(), sql`parent = ${uid}`),
      *beforeDelete(uid, access) {
        const { caller } = call.demand
        yield* requireEmpty(access, uid, caller.identity)
        if (parentOf(uid) === '') yield* requireFreshSignInForOwnership(deps, caller)
      },
    }),

  ...accessMethods(deps),
  ...limitMethods(deps),
})

export const groupsResource = defineResource({
  kind: groups,
  service: GroupsService,
  methods: groupsMethods,
})
