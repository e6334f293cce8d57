// The clients of the OpenID Provider.
import type { ClientMetadata } from 'oidc-provider'
import { paths } from '../paths.ts'

/** The command line client, and any other program that receives its redirect on the user's machine. */
export const nativeClient = 'stemma'
/** All published clients. They sign in at `/oauth`, and the server redeems the authorization code for them. */
export const publishedClient = 'published'
/** The client id by which published programs name the built-in sign-in. They use it for the device flow. */
export const publishedDeviceClient = 'auth0'

/** The clients whose id tokens leave the server. The exchange accepts these id tokens. */
export const idTokenClients: readonly string[] = [nativeClient, publishedDeviceClient]

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

export const clientsOf = (authUrl: string): ClientMetadata[] => [
  {
    client_id: nativeClient,
    client_name: 'The Stemma client',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', deviceGrantType],
    response_types: ['code'],
    redirect_uris: ['127.0.0.1', '[::1]', 'localhost'].map((host) => `http://${host}/callback`),
  },
  {
    client_id: publishedClient,
    client_name: 'A client of this API',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [authUrl + paths.publishedReturn],
  },
  {
    client_id: publishedDeviceClient,
    client_name: 'A client of this API',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: [deviceGrantType],
    response_types: [],
    redirect_uris: [],
  },
]
