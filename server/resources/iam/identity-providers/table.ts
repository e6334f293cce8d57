import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { kindOf } from '../../kind.ts'

export const identityProviders = kindOf(IdentityProviderSchema, 'identity_providers', {
  hasChildren: true,
  columns: {
    default_role: ({ defaultRole }) => defaultRole,
    issuer: ({ configuration }) => configuration.value?.issuer ?? '',
    client_id: ({ configuration }) => configuration.value?.clientId ?? '',
  },
  /** The client secret is encrypted. */
  extraColumns: { client_secret: 'text' },
  hiddenFields: { client_secret: 'oidc.clientSecret' },
})
