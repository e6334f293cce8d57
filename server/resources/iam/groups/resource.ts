// Groups: the tree itself.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import type {
  CreateGroupRequest,
  ListGroupsRequest,
  RequestGroupAccessRequest,
  UpdateGroupRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  CheckEligibilityResponseSchema,
  GroupSchema,
  GroupsService,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  failedPrecondition,
  noOrganization,
  operatorOnly,
  permissionDenied,
  tooManyRequests,
} from '../../../aip/errors.ts'
import { depthOf, newChildUid, newRootUid, parentOf } from '../../../aip/uid.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { StoreError } from '../../../store/store-error.ts'
import { contentsOf } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createEntry, createIn, draftOf } from '../../create.ts'
import { deleteResource, removeEntry } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { messageOf } from '../../kind.ts'
import { equalTo, listResources } from '../../list.ts'
import { readReply } from '../../reply.ts'
import { resourceIn } from '../../request-resource.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { accountAssociations } from '../account-associations/table.ts'
import { groupAccessRequests } from '../group-access-requests/table.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { findOrganization } from './lookup.ts'
import { bindOwner, requireFounder } from './organization.ts'
import { groups } from './table.ts'

const deepest = 32

function groupsMethods(deps: Dependencies) {
  const { store, now, random, settings } = deps

  function* createRoot(access: WriteAccess, call: Call<CreateGroupRequest>): Work<Reply> {
    const { identity, narrowing } = call.demand.caller
    if (settings.organizationCreation === 'nobody' || narrowing)
      throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_CREATE), '')
    yield* requireFounder(identity)
    const uid = newRootUid(random)
    yield* createEntry(access, groups, draft(call), { uid, now: now() })
    yield* bindOwner({ ...deps, access }, uid, identity)
    return yield* readReply(groups, uid, call.form)
  }

  function* createBelow(access: WriteAccess, parent: string, call: Call<CreateGroupRequest>): Work<Reply> {
    if (depthOf(parent) >= deepest) {
      throw failedPrecondition('TREE_TOO_DEEP', `groups can lie at most ${deepest} levels deep`)
    }
    const time = now()
    const uid = newChildUid(parent, time, random)
    yield* createIn(access, parent, groups, draft(call), { uid, now: time })
    return yield* readReply(groups, uid, call.form)
  }

  function* requestAccess(access: WriteAccess, organization: string, identity: string): Work<void> {
    const request = create(GroupAccessRequestSchema)
    const time = now()
    const entry = { uid: newChildUid(organization, time, random), now: time, columns: { identity } }
    try {
      yield* createEntry(access, groupAccessRequests, request, entry)
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'foreign-key') throw noOrganization()
      if (error instanceof StoreError && error.kind === 'unique')
        throw tooManyRequests('you have asked for access already; its owners will answer')
      throw error
    }
  }

  return {
    getGroup: (call: Call) => getResource(store, groups, call),

    listGroups: (call: Call<ListGroupsRequest>) =>
      listResources(deps, groups, call, { filters: equalTo(raw('name'), call.request.name) }),

    createGroup: (call: Call<CreateGroupRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { parent } = call.request
        return parent === '' ? yield* createRoot(access, call) : yield* createBelow(access, parent, call)
      }, call.deadline),

    updateGroup: (call: Call<UpdateGroupRequest>) =>
      updateResource(deps, groups, call, {
        beforeUpdate({ current, merged }) {
          if (current.verified && current.name !== merged.name) throw operatorOnly('name', current.uid)
        },
      }),

    deleteGroup: (call: Call) =>
      deleteResource(deps, groups, call, {
        beforeDelete: (uid, access) => requireEmpty(access, uid, call.demand.caller.identity),
      }),

    lookupGroup: (call: Call) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        const uid = yield* requireOrganization(call.demand.caller.identity)
        const [row] = yield sql`select proto from groups where uid = ${uid}`
        const group = messageOf(groups, row?.[0] as Uint8Array) // found in the same moment
        return messageReply(LookupGroupResponseSchema, create(LookupGroupResponseSchema, { group }))
      }),

    checkEligibility: (call: Call) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        const eligible = (yield* findOrganization(call.demand.caller.identity)) !== undefined
        return messageReply(
          CheckEligibilityResponseSchema,
          create(CheckEligibilityResponseSchema, { eligible }),
        )
      }),

    requestGroupAccess: (call: Call<RequestGroupAccessRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { identity, narrowing } = access.caller
        const organization = yield* requireOrganization(identity)
        if (organization !== call.request.groupUid || narrowing) throw noOrganization()
        yield* requestAccess(access, organization, identity)
        return messageReply(RequestGroupAccessResponseSchema, create(RequestGroupAccessResponseSchema))
      }, call.deadline),
  }
}

export const groupsResource = defineResource({
  kind: groups,
  service: GroupsService,
  methods: groupsMethods,
})

function* requireOrganization(identity: string): Work<string> {
  const uid = yield* findOrganization(identity)
  if (uid === undefined) throw noOrganization()
  return uid
}

const draft = (call: Call<CreateGroupRequest>) => draftOf(GroupSchema, resourceIn(groups, call))

/**
 * Nobody stands above an organization, so whoever deletes one must hold a role in it until the end: the
 * caller's own bindings go with an organization that holds nothing else.
 */
function* requireEmpty(access: WriteAccess, uid: string, caller: string): Work<void> {
  const contents = yield* contentsOf(uid)
  const association = yield* first(sql`select uid from account_associations where uid = ${uid}`)
  // It is counted beside the group, as it bears the group's uid.
  if (association) contents.push({ kind: accountAssociations.table.name, count: 1 })
  if (contents.length === 0) return
  const own = parentOf(uid) === '' ? yield* ownBindings(uid, caller) : []
  const [only, ...others] = contents
  if (only?.kind === roleBindings.table.name && only.count === own.length && others.length === 0) {
    for (const binding of own) yield* removeEntry(access, roleBindings, binding)
    return
  }
  const inside = contents.map(({ kind }) => kind.replaceAll('_', ' ')).sort()
  throw failedPrecondition('RESOURCE_NOT_EMPTY', `cannot delete group with child ${inside.join(', ')}`)
}

function* ownBindings(uid: string, caller: string): Work<string[]> {
  const rows = yield* all(sql`select uid from role_bindings where parent = ${uid} and identity = ${caller}`)
  return rows.map(([binding]) => binding as string)
}
