import type { IdentityProvider_SCIMJson } from '@stemma/api/json/platform/iam/v2beta1/identity_provider'
import type { PageProps } from '../../router/route.ts'
import type { BadgeTone } from '../../ui/badge.tsx'

export type ScimProps = PageProps & { provider: string; scim: IdentityProvider_SCIMJson }

/** Also true after the token has expired or was revoked. The next token then replaces it. */
export const wasTokenIssued = ({ credentialState }: IdentityProvider_SCIMJson) =>
  credentialState !== undefined && credentialState !== 'CREDENTIAL_STATE_NOT_ISSUED'

export const tokenStates: Readonly<Record<string, [BadgeTone, string]>> = {
  CREDENTIAL_STATE_NOT_ISSUED: ['neutral', 'none yet'],
  CREDENTIAL_STATE_LIVE: ['good', 'works'],
  CREDENTIAL_STATE_EXPIRED: ['bad', 'expired'],
  CREDENTIAL_STATE_REVOKED: ['bad', 'revoked'],
  CREDENTIAL_STATE_ROTATING: ['good', 'works, and the previous one too'],
}
