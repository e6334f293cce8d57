// The clients of the OpenID Provider.
import type { ClientMetadata } from 'oidc-provider'
import { consolePaths, paths } from '../paths.ts'

/** The command line client, and any other program that receives its redirect on the user's machine. */
export const nativeClient = 'stemma'
/** All published clients. They sign in at `/oauth`, and the server redeems the authorization code for them. */
export const publishedClient = 'published'
/** The client id that published clients use for the device flow. */
export const publishedDeviceClient = 'auth0'

/** The web console. The server redeems its authorization codes and keeps its sessions (console/session.ts). */
export const consoleClient = 'console'

/** The clients whose id tokens leave the server. The exchange accepts these id tokens. */
export const idTokenClients: readonly string[] = [nativeClient, publishedDeviceClient]

/** The names of the clients, which sign-in shows. */
export const clientNames: Readonly<Record<string, string>> = {
  [nativeClient]: 'The Stemma client',
  [publishedClient]: 'A client of this API',
  [publishedDeviceClient]: 'A client of this API',
  [consoleClient]: 'Stemma console',
}

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

export const clientsOf = (authUrl: string, baseUrl: string): ClientMetadata[] =>
  clients(authUrl, baseUrl).map((client) => ({ client_name: clientNames[client.client_id] ?? '', ...client }))

const clients = (authUrl: string, baseUrl: string): ClientMetadata[] => [
  {
    client_id: nativeClient,
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', deviceGrantType],
    response_types: ['code'],
    redirect_uris: ['127.0.0.1', '[::1]', 'localhost'].map((host) => `http://${host}/callback`),
  },
  {
    client_id: publishedClient,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [authUrl + paths.publishedReturn],
  },
  {
    client_id: consoleClient,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [baseUrl + consolePaths.signedIn],
  },
  {
    client_id: publishedDeviceClient,
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: [deviceGrantType],
    response_types: [],
    redirect_uris: [],
  },
]
