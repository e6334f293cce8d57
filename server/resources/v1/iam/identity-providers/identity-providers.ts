import type {
  CreateIdentityProviderRequest,
  DeleteIdentityProviderRequest,
  IdentityProviderFilter,
  IdentityProvider as V1Provider,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import {
  IdentityProviderListSchema,
  IdentityProviders,
  IdentityProviderSchema as V1ProviderSchema,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import type { IdentityProvider } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { providerFromV1, providerToV1 } from './conversion.ts'
import { scimMethodsV1 } from './scim-methods.ts'

const v2 = IdentityProvidersService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
]

export const identityProvidersV1 = defineService({ service: IdentityProviders, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  const withScim = (call: Call, providers: IdentityProvider[]) =>
    Promise.all(
      providers.map(async ({ uid }) => (await callV2(call, v2.getIdentityProvider, { uid })).message),
    )
  return {
    ...scimMethodsV1(deps),

    create(call: Call<CreateIdentityProviderRequest>) {
      const { parentId, identityProvider } = call.request
      const reply = callV2(call, v2.createIdentityProvider, {
        parent: parentId,
        ...(identityProvider && { identityProvider: providerFromV1(identityProvider) }),
      })
      return convertReply(renameErrorFields(renames, reply), V1ProviderSchema, providerToV1)
    },

    update(call: Call<V1Provider>) {
      const identityProvider = providerFromV1(call.request, call.request.id)
      const reply = callV2(call, v2.updateIdentityProvider, {
        identityProvider,
        updateMask: { paths: ['*'] },
      })
      return convertReply(renameErrorFields(renames, reply), V1ProviderSchema, providerToV1)
    },

    list(call: Call<IdentityProviderFilter>) {
      const { id, name, uidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listIdentityProviders,
        request: { uidp: uidpFilter(uidp, { id }), name },
        list: IdentityProviderListSchema,
        items: async ({ identityProviders }) =>
          // v1 has no Get, so a list of one provider returns what Get of v2 returns.
          (id === '' ? identityProviders : await withScim(call, identityProviders)).map(providerToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    delete(call: Call<DeleteIdentityProviderRequest>) {
      const reply = callV2(call, v2.deleteIdentityProvider, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}
