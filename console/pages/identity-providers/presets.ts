// Values of the form for providers that many organizations use. They only fill in fields, which can be changed.

export type Preset = {
  name: string
  /** The name of the new identity provider. */
  shortName: string
  /** Set if the issuer is the same for every organization. */
  issuer?: string
  issuerExample: string
  /** The first steps in the console of the provider. */
  help: string
  scopes: string
  groupsClaim: string
  /** Whether people are recognised by the claim `oid` in place of `sub`. */
  correlatesByOid?: boolean
}

export const presets: Readonly<Record<string, Preset>> = {
  okta: {
    name: 'Okta',
    shortName: 'okta',
    issuerExample: 'https://acme.okta.com',
    help: 'In Okta, create an app integration: OIDC, Web Application. For groups, add a groups claim to its id token.',
    scopes: 'groups',
    groupsClaim: 'groups',
  },
  entra: {
    name: 'Microsoft Entra ID',
    shortName: 'entra',
    issuerExample: 'https://login.microsoftonline.com/TENANT_ID/v2.0',
    help: 'In Entra, create an app registration with a client secret. For groups, add a groups claim to its token configuration; groups are then named by their object ids.',
    scopes: '',
    groupsClaim: 'groups',
    correlatesByOid: true,
  },
  google: {
    name: 'Google Workspace',
    shortName: 'google',
    issuer: 'https://accounts.google.com',
    issuerExample: 'https://accounts.google.com',
    help: 'In the Google Cloud console, create an OAuth client of the type Web application. Choose the user type Internal for the consent screen: otherwise everybody with a Google account can sign in. Google sends no groups.',
    scopes: '',
    groupsClaim: '',
  },
  keycloak: {
    name: 'Keycloak',
    shortName: 'keycloak',
    issuerExample: 'https://keycloak.example.com/realms/acme',
    help: 'In Keycloak, create a client with client authentication. For groups, add a mapper of the type Group Membership to its dedicated scope.',
    scopes: '',
    groupsClaim: 'groups',
  },
  other: {
    name: 'Other',
    shortName: 'sso',
    issuerExample: 'https://login.example.com',
    help: 'Every OpenID Connect provider with a discovery document works. Create a confidential web client there.',
    scopes: '',
    groupsClaim: '',
  },
}
