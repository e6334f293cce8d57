// Converts identity providers between v1 and v2.
import type { Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { IdentityProvider as V1Provider } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProviderSchema as V1ProviderSchema } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import type { IdentityProvider } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'

type Configuration = V1Provider['configuration'] | IdentityProvider['configuration']

export const providerFromV1 = (provider: V1Provider, uid = ''): IdentityProvider => {
  const { name, description, defaultRole } = provider
  return create(IdentityProviderSchema, { uid, name, description, defaultRole, ...configurationOf(provider) })
}

export const providerToV1 = (provider: IdentityProvider): V1Provider => {
  const { uid, name, description, defaultRole, scim } = provider
  return create(V1ProviderSchema, {
    ...{ id: uid, name, description, defaultRole, ...configurationOf(provider) },
    ...(scim && { scim: withoutTypeName(scim) }),
  })
}

/** The fields of a message whose type has the same fields in both versions. */
function withoutTypeName<M extends Message>(message: M): Omit<M, '$typeName' | '$unknown'> {
  const { $typeName, $unknown, ...fields } = message
  return fields
}

/** The fields of a response to a SCIM call: only the name of one field differs. */
export function scimResponseToV1<M extends Message & { identityProviderUid: string }>(response: M) {
  const { identityProviderUid, ...fields } = withoutTypeName(response) as M
  return { ...withoutTypeName(fields as M), identityProviderId: identityProviderUid }
}

/** The fields are the same in both versions. v2 never returns the client secret, so it is empty in v1 replies. */
function configurationOf({ configuration }: { configuration: Configuration }) {
  if (configuration.case === undefined) return {}
  const { issuer, clientId, clientSecret, additionalScopes } = configuration.value
  const { groupsClaim, correlationRule, pkceEnabled } = configuration.value
  const value = {
    issuer,
    clientId,
    clientSecret,
    additionalScopes,
    groupsClaim,
    correlationRule,
    pkceEnabled,
  }
  return { configuration: { case: configuration.case, value } }
}
