// Role bindings: who holds which role where.
import { create } from '@bufbuild/protobuf'
import type {
  BatchCreateRoleBindingsRequest,
  CreateRoleBindingRequest,
  ListRoleBindingsRequest,
  RoleBinding,
  UpdateRoleBindingRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import {
  BatchCreateRoleBindingsResponseSchema,
  RoleBindingSchema,
  RoleBindingsService,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { newChildUid, parentOf } from '../../../aip/uid.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Rendered } from '../../../store/table.ts'
import { readBytes } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { createIn, createResource, draftOf } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { listReply } from '../../reply.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireBindable, requireDelegable } from '../delegation.ts'
import { roleBindings } from './table.ts'

const conflict = () => 'the identity has this role in this group already'

function roleBindingsMethods(deps: Dependencies) {
  const { store, now, random } = deps

  return {
    getRoleBinding: (call: Call) => getResource(store, roleBindings, call),

    listRoleBindings(call: Call<ListRoleBindingsRequest>) {
      const { identity, group, role } = call.request
      const filters = [...equalTo(raw('identity'), identity), ...equalTo(raw('role'), role)]
      return listResources(deps, roleBindings, call, { filters, group })
    },

    createRoleBinding: (call: Call<CreateRoleBindingRequest>) =>
      createResource(deps, roleBindings, call, {
        conflict,
        beforeCreate: (draft, { grants }) => requireAllowed(grants, call.demand.scope, draft),
      }),

    /** All or none; the answer is in the order of the requests. */
    batchCreateRoleBindings: (call: Call<BatchCreateRoleBindingsRequest>) =>
      store.write(function* () {
        const grants = yield* admitToWrite(call.demand)
        const { parent } = call.request
        const drafts = draftsOf(call.request)
        const time = now()
        const uids: string[] = []
        for (const [at, draft] of drafts.entries()) {
          const uid = newChildUid(parent, time, random)
          const field = `requests[${at}].role_binding.`
          const columns = yield* requireAllowed(grants, parent, draft, field)
          const message = `${field.slice(0, -1)}: ${conflict()}`
          yield* createIn(grants, parent, roleBindings, draft, { uid, now: time, columns }, message)
          uids.push(uid)
        }
        const rows = yield* readAll(uids, call.form)
        return listReply(roleBindings, BatchCreateRoleBindingsResponseSchema, rows, {})
      }, call.deadline),

    updateRoleBinding: (call: Call<UpdateRoleBindingRequest>) =>
      updateResource(deps, roleBindings, call, {
        conflict,
        *beforeUpdate({ columns: { identity, role }, merged, mask, grants }) {
          const named = (name: string) => mask.some(([field]) => field?.name === name)
          if (!named('identity_uid')) merged.identityUid = identity
          if (!named('role_uid')) merged.roleUid = role
          if (merged.identityUid === identity && merged.roleUid === role) return {}
          return yield* requireAllowed(grants, parentOf(call.demand.scope), merged)
        },
      }),

    deleteRoleBinding: (call: Call) => deleteResource(deps, roleBindings, call, { isIdempotent: true }),
  }
}

export const roleBindingsResource = defineResource({
  kind: roleBindings,
  service: RoleBindingsService,
  methods: roleBindingsMethods,
})

/** Returns the columns of a binding that the caller may make. `prefix` is the path of the binding in the request. */
function* requireAllowed(
  grants: Grants,
  group: string,
  binding: RoleBinding,
  prefix = '',
): Work<{ identity: string; role: string }> {
  const { identityUid = '', roleUid = '' } = binding
  if (identityUid === '') throw invalidField(`${prefix}identity_uid`, 'is required')
  if (roleUid === '') throw invalidField(`${prefix}role_uid`, 'is required')
  yield* requireDelegable(grants, group, roleUid, `${prefix}role_uid`)
  yield* requireBindable(grants, group, identityUid, `${prefix}identity_uid`)
  return { identity: identityUid, role: roleUid }
}

/** A role and a parent of the whole batch stand for those that name none, and agree with those that do. */
function draftsOf({ parent, requests, roleUid }: BatchCreateRoleBindingsRequest): RoleBinding[] {
  if (requests.length === 0) throw invalidField('requests', 'must hold at least one request')
  return requests.map((request, at) => {
    if (request.parent !== '' && request.parent !== parent)
      throw invalidField(`requests[${at}].parent`, 'must be left out, or be the parent of the batch')
    const draft = draftOf(RoleBindingSchema, request.roleBinding ?? create(RoleBindingSchema))
    if (roleUid !== '' && draft.roleUid && draft.roleUid !== roleUid)
      throw invalidField(
        `requests[${at}].role_binding.role_uid`,
        'must be left out, or be the role_uid of the batch',
      )
    draft.roleUid ||= roleUid
    return draft
  })
}

function* readAll(uids: string[], form: 'json' | 'bytes'): Work<Rendered[]> {
  const { table } = roleBindings
  const rows = yield sql`select uid, ${table.rendered(roleBindings.forms[form])} from ${raw(table.name)}
    where uid in ${among(uids)}`
  const found = new Map(rows as [string, Rendered | null][])
  const bytes = yield* readBytes(
    table,
    uids.filter((uid) => found.get(uid) === null),
  )
  return uids.map((uid) => found.get(uid) ?? bytes.get(uid)) as Rendered[] // they were made just now
}
