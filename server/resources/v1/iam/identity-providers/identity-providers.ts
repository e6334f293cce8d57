// Identity providers as v1 has them.
import type {
  CreateIdentityProviderRequest,
  DeleteIdentityProviderRequest,
  IdentityProviderFilter,
  IdentityProvider as OldProvider,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import {
  IdentityProviderListSchema,
  IdentityProviderSchema as OldProviderSchema,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import type { Renaming } from '../../convert.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { oldProviderOf, providerOf } from './conversion.ts'

const v2 = IdentityProvidersService.method

const names: Renaming[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
]

export function identityProvidersOfV1(ask: Ask) {
  return {
    create(call: Call<CreateIdentityProviderRequest>) {
      const { parentId, identityProvider } = call.request
      const asked = ask(call, v2.createIdentityProvider, {
        parent: parentId,
        ...(identityProvider && { identityProvider: providerOf(identityProvider) }),
      })
      return converted(inNames(names, asked), OldProviderSchema, oldProviderOf)
    },

    update(call: Call<OldProvider>) {
      const identityProvider = providerOf(call.request, call.request.id)
      const asked = ask(call, v2.updateIdentityProvider, { identityProvider, updateMask: { paths: ['*'] } })
      return converted(inNames(names, asked), OldProviderSchema, oldProviderOf)
    },

    list(call: Call<IdentityProviderFilter>) {
      const { id, name, uidp } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listIdentityProviders,
        request: { uidp: placeOf(uidp, { id }), name },
        list: IdentityProviderListSchema,
        items: ({ identityProviders }) => identityProviders.map(oldProviderOf),
      })
      return inNames(namesOfPlace(id && 'id'), listing)
    },

    delete(call: Call<DeleteIdentityProviderRequest>) {
      return deleted(inNames(names, ask(call, v2.deleteIdentityProvider, { uid: call.request.id })))
    },
  }
}
