// Identity providers of v1 made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type { IdentityProvider as OldProvider } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProviderSchema as OldProviderSchema } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import type { IdentityProvider } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'

type Configuration = OldProvider['configuration'] | IdentityProvider['configuration']

export const providerOf = (old: OldProvider, uid = ''): IdentityProvider => {
  const { name, description, defaultRole } = old
  return create(IdentityProviderSchema, { uid, name, description, defaultRole, ...reachedBy(old) })
}

export const oldProviderOf = (provider: IdentityProvider): OldProvider => {
  const { uid, name, description, defaultRole } = provider
  return create(OldProviderSchema, { id: uid, name, description, defaultRole, ...reachedBy(provider) })
}

/** Both have the same fields; v2 never tells the secret, so there is none on the way back. */
function reachedBy({ configuration }: { configuration: Configuration }) {
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
