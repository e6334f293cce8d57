import type {
  CreateIdentityRequest,
  DeleteIdentityRequest,
  IdentityFilter,
  LookupRequest,
  Identity as V1Identity,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import {
  Identities,
  IdentityListSchema,
  IdentitySchema as V1IdentitySchema,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { noIdentity } from '../../../../aip/errors.ts'
import { admitToRead } from '../../../../policy/admit.ts'
import type { Call } from '../../../../rpc/call.ts'
import { messageReply } from '../../../../wire/reply.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { identityFromV1, identityToV1, updatePaths } from './conversion.ts'
import { findIdentity } from './lookup.ts'

const v2 = IdentitiesService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
  [/^static_keys\b/, 'static'],
  [/\bexpiration_time$/, 'expiration'],
]

export const identitiesV1 = defineService({ service: Identities, methods })

function methods(deps: V1Dependencies) {
  const { store, callV2 } = deps
  return {
    create(call: Call<CreateIdentityRequest>) {
      const { parentId, identity } = call.request
      const reply = callV2(call, v2.createIdentity, {
        parent: parentId,
        ...(identity && { identity: identityFromV1(identity) }),
      })
      return convertReply(renameErrorFields(renames, reply), V1IdentitySchema, identityToV1)
    },

    update(call: Call<V1Identity>) {
      const identity = identityFromV1(call.request, call.request.id)
      const reply = callV2(call, v2.updateIdentity, { identity, updateMask: { paths: updatePaths } })
      return convertReply(renameErrorFields(renames, reply), V1IdentitySchema, identityToV1)
    },

    list(call: Call<IdentityFilter>) {
      const { id, uidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listIdentities,
        request: { uidp: uidpFilter(uidp, { id }) },
        list: IdentityListSchema,
        items: ({ identities }) => identities.map(identityToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    lookup: (call: Call<LookupRequest>) =>
      store.read(function* () {
        const grants = yield* admitToRead(call.demand)
        const { issuer, subject } = call.request
        const identity = yield* findIdentity(grants, issuer, subject)
        if (!identity) throw noIdentity()
        return messageReply(V1IdentitySchema, identityToV1(identity))
      }),

    delete(call: Call<DeleteIdentityRequest>) {
      const reply = callV2(call, v2.deleteIdentity, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}
