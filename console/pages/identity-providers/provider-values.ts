import type { IdentityProvider_OIDCJson } from '@stemma/api/json/platform/iam/v2beta1/identity_provider'

/** The fields that the forms of an identity provider have in common. */
export function providerOf(values: FormData) {
  const text = (name: string) => String(values.get(name) ?? '').trim()
  const secret = text('clientSecret')
  return {
    ...{ name: text('name'), description: text('description'), defaultRole: text('role') },
    oidc: {
      ...{ issuer: text('issuer'), clientId: text('clientId'), groupsClaim: text('groupsClaim') },
      ...(secret !== '' && { clientSecret: secret }),
      additionalScopes: text('scopes').split(/\s+/).filter(Boolean),
      pkceEnabled: values.has('pkce'),
    } satisfies IdentityProvider_OIDCJson,
  }
}

/**
 * The fields that the edit form can change. The server never returns the client secret, so `updateMask` treats an empty
 * one as unchanged.
 */
export const providerFields = [
  ...(['name', 'description', 'defaultRole', 'oidc.issuer', 'oidc.clientId', 'oidc.clientSecret'] as const),
  ...(['oidc.groupsClaim', 'oidc.additionalScopes', 'oidc.pkceEnabled'] as const),
]
