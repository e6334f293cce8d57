// The identity provider of an organization: a real OpenID Provider (oidc-provider) with its own pages.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'
import { Provider } from 'oidc-provider'
import type { Page, Visitor } from './visitor.ts'

export const clientId = 'stemma-at-acme'
export const clientSecret = 'a secret that only acme and stemma know'

export type OrganizationProvider = {
  issuer: string
  /** Signs a person in. `page` is the sign-in page of the provider, or the page of stemmad that leads to it. */
  signIn(visitor: Visitor, page: Page, login: string): Promise<Page>
  close(): Promise<void>
}

/** The claims of people, by login. */
export type Claims = Record<string, Record<string, unknown>>

/** `redirectUri` and every URI below it are registered at the provider. */
export async function startProvider(
  redirectUri: string,
  claims: Claims,
  overrides: Partial<Configuration> = {},
): Promise<OrganizationProvider> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // address() returns a string only for pipes
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [redirectUri],
      },
    ],
    claims: { openid: ['sub', 'oid'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...claims[sub] }) }),
    cookies: { keys: ['keys of acme'] },
    features: { devInteractions: { enabled: true } },
    ...overrides,
  })
  const { prototype } = provider.Client
  prototype.redirectUriAllowed = (uri) => uri === redirectUri || uri.startsWith(`${redirectUri}/`)
  server.on('request', provider.callback())
  return {
    issuer,
    async signIn(visitor, firstPage, login) {
      // The page of stemmad asks for confirmation first.
      const isPageOfStemmad = !firstPage.url.startsWith(issuer)
      const page = isPageOfStemmad ? await visitor.submitTo(firstPage, '/organization') : firstPage
      const consent = await visitor.submit(page, { login, password: 'any password' })
      return visitor.submit(consent, {})
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
