import type {
  IdentityProvider_OIDCJson,
  IdentityProviderJson,
} from '@stemma/api/json/platform/iam/v2beta1/identity_provider'

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

/** The fields that a change sets. A client secret that is left empty, and a role that is not changed, stay as they are. */
export const changedFields = (values: FormData, { defaultRole }: IdentityProviderJson) =>
  [
    ...['name', 'description', 'oidc.issuer', 'oidc.client_id', 'oidc.groups_claim'],
    ...['oidc.additional_scopes', 'oidc.pkce_enabled'],
    ...(values.get('role') === defaultRole ? [] : ['default_role']),
    ...(String(values.get('clientSecret') ?? '').trim() === '' ? [] : ['oidc.client_secret']),
  ].join(',')
