import { create } from '@bufbuild/protobuf'
import type {
  BatchCreateRoleBindingsRequest,
  RoleBinding,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import {
  BatchCreateRoleBindingsResponseSchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { newChildUid } from '../../../aip/uid.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Rendered } from '../../../store/table.ts'
import { readBytes } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { createIn, draftOf } from '../../create.ts'
import type { Dependencies } from '../../dependencies.ts'
import { redactionFor } from '../../kind.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { listReply } from '../../reply.ts'
import { bindingConflict, requireAllowed } from './require-allowed.ts'
import { roleBindings } from './table.ts'

/** Creates all bindings or none. The reply has the order of the requests. */
export function* batchCreate(
  deps: Dependencies,
  call: Call<BatchCreateRoleBindingsRequest>,
  grants: WriteGrants,
): Work<Reply> {
  const { parent } = call.request
  const time = deps.now()
  const uids: string[] = []
  for (const [index, draft] of draftsOf(call.request).entries()) {
    const uid = newChildUid(parent, time, deps.random)
    const path = `requests[${index}].role_binding`
    const columns = yield* requireAllowed(grants, parent, draft, { prefix: `${path}.` })
    yield* requireFreshSignInForRole(deps, grants.caller, columns.role)
    const conflict = `${path}: ${bindingConflict}`
    yield* createIn(grants, parent, roleBindings, draft, { uid, now: time, columns }, conflict)
    uids.push(uid)
  }
  const rows = yield* readAll(uids, call.form, grants)
  return listReply(roleBindings, BatchCreateRoleBindingsResponseSchema, rows, {})
}

/** The parent of the batch applies to all requests, and so does its role, if set. Requests must not name others. */
function draftsOf(batch: BatchCreateRoleBindingsRequest): RoleBinding[] {
  const { parent, requests, roleUid } = batch
  if (requests.length === 0) throw invalidField('requests', 'must contain at least one request')
  return requests.map((request, index) => {
    if (request.parent !== '' && request.parent !== parent)
      throw invalidField(`requests[${index}].parent`, 'must be left out, or be the parent of the batch')
    if (request.validateOnly && !batch.validateOnly)
      throw invalidField(
        `requests[${index}].validate_only`,
        'must be left out; validate_only of the batch applies to all requests',
      )
    const draft = draftOf(RoleBindingSchema, request.roleBinding ?? create(RoleBindingSchema))
    if (roleUid !== '' && draft.roleUid && draft.roleUid !== roleUid)
      throw invalidField(
        `requests[${index}].role_binding.role_uid`,
        'must be left out, or be the role_uid of the batch',
      )
    draft.roleUid ||= roleUid
    return draft
  })
}

function* readAll(uids: string[], form: 'json' | 'bytes', grants: Grants): Work<Rendered[]> {
  const { table } = roleBindings
  const redaction = redactionFor(roleBindings, grants)
  if (redaction) {
    const stored = yield* readBytes(table, uids)
    // Every row exists, because this transaction has created it.
    return uids.map((uid) => redaction.apply(grants, stored.get(uid) as Uint8Array))
  }
  const rows = yield sql`select uid, ${table.rendered(roleBindings.forms[form])} from ${raw(table.name)}
    where uid in ${among(uids)}`
  const rendered = new Map(rows as [string, Rendered | null][]) // null: the stored JSON is outdated
  const bytes = yield* readBytes(
    table,
    uids.filter((uid) => rendered.get(uid) === null),
  )
  return uids.map((uid) => rendered.get(uid) ?? bytes.get(uid)) as Rendered[] // created in this transaction
}
