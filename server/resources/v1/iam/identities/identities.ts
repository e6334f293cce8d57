// Identities as v1 has them.
import type {
  CreateIdentityRequest,
  DeleteIdentityRequest,
  IdentityFilter,
  LookupRequest,
  Identity as OldIdentity,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import {
  IdentityListSchema,
  IdentitySchema as OldIdentitySchema,
} from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { noIdentity } from '../../../../aip/errors.ts'
import { admit } from '../../../../policy/admit.ts'
import type { Call } from '../../../../rpc/call.ts'
import { messageReply } from '../../../../wire/reply.ts'
import type { Dependencies } from '../../../dependencies.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import type { Renaming } from '../../convert.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { identityOf, oldIdentityOf, settable } from './conversion.ts'
import { findIdentity } from './lookup.ts'

const v2 = IdentitiesService.method

const names: Renaming[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
  [/^static_keys\b/, 'static'],
  [/\bexpiration_time$/, 'expiration'],
]

export function identitiesOfV1({ store }: Pick<Dependencies, 'store'>, ask: Ask) {
  return {
    create(call: Call<CreateIdentityRequest>) {
      const { parentId, identity } = call.request
      const asked = ask(call, v2.createIdentity, {
        parent: parentId,
        ...(identity && { identity: identityOf(identity) }),
      })
      return converted(inNames(names, asked), OldIdentitySchema, oldIdentityOf)
    },

    update(call: Call<OldIdentity>) {
      const identity = identityOf(call.request, call.request.id)
      const asked = ask(call, v2.updateIdentity, { identity, updateMask: { paths: settable } })
      return converted(inNames(names, asked), OldIdentitySchema, oldIdentityOf)
    },

    list(call: Call<IdentityFilter>) {
      const { id, uidp } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listIdentities,
        request: { uidp: placeOf(uidp, { id }) },
        list: IdentityListSchema,
        items: ({ identities }) => identities.map(oldIdentityOf),
      })
      return inNames(namesOfPlace(id && 'id'), listing)
    },

    lookup: (call: Call<LookupRequest>) =>
      store.read(function* () {
        const grants = yield* admit(call.demand, false)
        const { issuer, subject } = call.request
        const identity = yield* findIdentity(grants, issuer, subject)
        if (!identity) throw noIdentity()
        return messageReply(OldIdentitySchema, oldIdentityOf(identity))
      }),

    delete(call: Call<DeleteIdentityRequest>) {
      return deleted(inNames(names, ask(call, v2.deleteIdentity, { uid: call.request.id })))
    },
  }
}
