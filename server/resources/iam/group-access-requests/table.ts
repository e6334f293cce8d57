import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { identities } from '../identities/table.ts'

const name = 'group_access_requests'

export const groupAccessRequests = kindOf(GroupAccessRequestSchema, name, {
  /** The identity that asks for access. */
  extraColumns: { identity: 'text' },
  // Uses the columns of identities that are rendered for role bindings: the field `identity` has the same name and
  // number in both messages.
  rendered: hydrated(name, [
    { from: identities, by: 'identity', json: 'binding_json', bytes: 'binding_bytes' },
  ]),
  defaultOrder: [{ column: 'create_time', descending: false }],
})
