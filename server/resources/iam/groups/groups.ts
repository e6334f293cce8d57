// Groups: the tree itself.
import type { MessageShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type {
  CreateGroupRequest,
  DeleteGroupRequest,
  ListGroupsRequest,
  UpdateGroupRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { failedPrecondition, notFound, permissionDenied } from '../../../aip/errors.ts'
import type { Reply } from '../../../aip/passage.ts'
import { depthOf, newChildUid, newRootUid, parentOf } from '../../../aip/uid.ts'
import { admit } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { Call } from '../../../rpc/call.ts'
import { StoreError } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import { selectForDelete } from '../../../store/table.ts'
import { contentsOf } from '../../../store/tally.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import { emptyReply } from '../../reply.ts'
import type { Surroundings } from '../../standard.ts'
import {
  createEntry,
  draftOf,
  getResource,
  listResources,
  removeEntry,
  updateResource,
} from '../../standard.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { makeOwner, requireFounder } from './organization.ts'
import { groups } from './table.ts'

const deepest = 32

export type GroupSettings = { organizationCreation: 'people' | 'nobody' }

export function groupsService(surroundings: Surroundings, { organizationCreation }: GroupSettings) {
  const { store, now, random } = surroundings

  function* createOrganization(call: Call<CreateGroupRequest>): Work<Reply> {
    const { identity } = call.demand.caller
    if (organizationCreation === 'nobody')
      throw permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_CREATE), '')
    yield* requireFounder(identity)
    const uid = newRootUid(random)
    const reply = yield* createEntry(groups, draft(call.request.group), uid, now())
    yield* makeOwner(surroundings, uid, identity)
    return reply
  }

  function* createBelow(parent: string, call: Call<CreateGroupRequest>): Work<Reply> {
    if (depthOf(parent) >= deepest) {
      throw failedPrecondition('TREE_TOO_DEEP', `groups can lie at most ${deepest} levels deep`)
    }
    try {
      return yield* createEntry(groups, draft(call.request.group), newChildUid(parent, random), now())
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'foreign-key')
        throw notFound(GroupSchema.typeName, parent)
      throw error
    }
  }

  return {
    getGroup: (call: Call) => getResource(store, groups, call),

    listGroups(call: Call<ListGroupsRequest>) {
      const { name } = call.request
      return listResources(surroundings, groups, call, name === '' ? [] : [sql`name = ${name}`])
    },

    createGroup: (call: Call<CreateGroupRequest>) =>
      store.write(function* () {
        yield* admit(call.demand, true)
        const { parent } = call.request
        return parent === '' ? yield* createOrganization(call) : yield* createBelow(parent, call)
      }, call.deadline),

    updateGroup: (call: Call<UpdateGroupRequest>) =>
      updateResource(surroundings, groups, call, call.request.group ?? create(GroupSchema)),

    deleteGroup: (call: Call<DeleteGroupRequest>) =>
      store.write(function* () {
        yield* admit(call.demand, true)
        const { uid } = call.request
        const row = yield* first(selectForDelete(groups.table, uid))
        if (!row) throw notFound(GroupSchema.typeName, uid)
        yield* requireEmpty(uid, call.demand.caller.identity)
        yield* removeEntry(groups, uid)
        return emptyReply
      }, call.deadline),
  }
}

const draft = (sent: MessageShape<typeof GroupSchema> | undefined) =>
  draftOf(GroupSchema, sent ?? create(GroupSchema))

/**
 * Nobody stands above an organization, so whoever deletes one must hold a role in it until the end: the
 * caller's own bindings go with an organization that holds nothing else.
 */
function* requireEmpty(uid: string, caller: string): Work<void> {
  const contents = yield* contentsOf(uid)
  if (contents.length === 0) return
  const own = parentOf(uid) === '' ? yield* ownBindings(uid, caller) : []
  const [only, ...others] = contents
  if (only?.kind === roleBindings.table.name && only.count === own.length && others.length === 0) {
    for (const binding of own) yield* removeEntry(roleBindings, binding)
    return
  }
  const inside = contents.map(({ kind }) => kind.replaceAll('_', ' ')).join(', ')
  throw failedPrecondition('RESOURCE_NOT_EMPTY', `cannot delete group with child ${inside}`)
}

function* ownBindings(uid: string, caller: string): Work<string[]> {
  const rows = yield* all(sql`select uid from role_bindings where parent = ${uid} and identity = ${caller}`)
  return rows.map(([binding]) => binding as string)
}
