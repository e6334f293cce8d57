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
import { admit } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { StoreError } from '../../../store/store-error.ts'
import { contentsOf } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
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
import { makeOwner, requireFounder } from './organization.ts'
import { groups } from './table.ts'

const deepest = 32

function groupsMethods(deps: Dependencies) {
  const { store, now, random, settings } = deps

  function* createOrganization(call: Call<CreateGroupRequest>): Work<Reply> {
    const { identity, narrowing } = call.demand.caller
    if (settings.organizationCreation === 'nobody' || narrowing)
      throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_CREATE), '')
    yield* requireFounder(identity)
    const uid = newRootUid(random)
    yield* createEntry(groups, draft(call), { uid, now: now() })
    yield* makeOwner(deps, uid, identity)
    return yield* readReply(groups, uid, call.form)
  }

  function* createBelow(parent: string, call: Call<CreateGroupRequest>): Work<Reply> {
    if (depthOf(parent) >= deepest) {
      throw failedPrecondition('TREE_TOO_DEEP', `groups can lie at most ${deepest} levels deep`)
    }
    const time = now()
    const uid = newChildUid(parent, time, random)
    yield* createIn(parent, groups, draft(call), { uid, now: time })
    return yield* readReply(groups, uid, call.form)
  }

  /** What a call of somebody who belongs to no organization yet is about. */
  function* requireOrganization(call: Call): Work<string> {
    yield* admit(call.demand, false)
    const uid = yield* findOrganization(call.demand.caller.identity)
    if (uid === undefined) throw noOrganization()
    return uid
  }

  function* requestAccess(organization: string, identity: string): Work<void> {
    const request = create(GroupAccessRequestSchema)
    const time = now()
    const facts = { uid: newChildUid(organization, time, random), now: time, columns: { identity } }
    try {
      yield* createEntry(groupAccessRequests, request, facts)
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
        yield* admit(call.demand, true)
        const { parent } = call.request
        return parent === '' ? yield* createOrganization(call) : yield* createBelow(parent, call)
      }, call.deadline),

    updateGroup: (call: Call<UpdateGroupRequest>) =>
      updateResource(deps, groups, call, {
        beforeUpdate({ current, merged }) {
          if (current.verified && current.name !== merged.name) throw operatorOnly('name', current.uid)
        },
      }),

    deleteGroup: (call: Call) =>
      deleteResource(deps, groups, call, {
        beforeDelete: (uid) => requireEmpty(uid, call.demand.caller.identity),
      }),

    lookupGroup: (call: Call) =>
      store.read(function* () {
        const uid = yield* requireOrganization(call)
        const [row] = yield sql`select proto from groups where uid = ${uid}`
        const group = messageOf(groups, row?.[0] as Uint8Array) // found in the same moment
        return messageReply(LookupGroupResponseSchema, create(LookupGroupResponseSchema, { group }))
      }),

    checkEligibility: (call: Call) =>
      store.read(function* () {
        yield* admit(call.demand, false)
        const eligible = (yield* findOrganization(call.demand.caller.identity)) !== undefined
        return messageReply(
          CheckEligibilityResponseSchema,
          create(CheckEligibilityResponseSchema, { eligible }),
        )
      }),

    requestGroupAccess: (call: Call<RequestGroupAccessRequest>) =>
      store.write(function* () {
        const organization = yield* requireOrganization(call)
        const isFree = call.demand.caller.narrowing === undefined
        if (organization !== call.request.groupUid || !isFree) throw noOrganization()
        yield* requestAccess(organization, call.demand.caller.identity)
        return messageReply(RequestGroupAccessResponseSchema, create(RequestGroupAccessResponseSchema))
      }, call.deadline),
  }
}

export const groupsResource = defineResource({
  kind: groups,
  service: GroupsService,
  methods: groupsMethods,
})

const draft = (call: Call<CreateGroupRequest>) => draftOf(GroupSchema, resourceIn(groups, call))

/**
 * Nobody stands above an organization, so whoever deletes one must hold a role in it until the end: the
 * caller's own bindings go with an organization that holds nothing else.
 */
function* requireEmpty(uid: string, caller: string): Work<void> {
  const contents = yield* contentsOf(uid)
  const association = yield* first(sql`select uid from account_associations where uid = ${uid}`)
  // It is counted beside the group, as it bears the group's uid.
  if (association) contents.push({ kind: accountAssociations.table.name, count: 1 })
  if (contents.length === 0) return
  const own = parentOf(uid) === '' ? yield* ownBindings(uid, caller) : []
  const [only, ...others] = contents
  if (only?.kind === roleBindings.table.name && only.count === own.length && others.length === 0) {
    for (const binding of own) yield* removeEntry(roleBindings, binding)
    return
  }
  const inside = contents.map(({ kind }) => kind.replaceAll('_', ' ')).sort()
  throw failedPrecondition('RESOURCE_NOT_EMPTY', `cannot delete group with child ${inside.join(', ')}`)
}

function* ownBindings(uid: string, caller: string): Work<string[]> {
  const rows = yield* all(sql`select uid from role_bindings where parent = ${uid} and identity = ${caller}`)
  return rows.map(([binding]) => binding as string)
}
