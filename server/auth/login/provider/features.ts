import type { Configuration } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { prefixOf } from '../../../pages/url-prefix.ts'
import { tokenLifetimeSeconds } from '../../tokens/mint.ts'
import type { ProviderDependencies } from './dependencies.ts'
import { signOutPagesOf } from './pages.ts'

/** User codes. Their alphabet is 20 consonants, which are hard to confuse and form no words (RFC 8628, 6.1). */
const userCodes = { charset: 'base-20', mask: '****-****' } as const

export function featuresOf({
  keys,
  baseUrl,
  authUrl,
  devicePages,
}: ProviderDependencies): Configuration['features'] {
  const { kid, algorithm } = keys.signing()
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: async (_, client, token) => token.clientId === client.clientId,
    },
    deviceFlow: { enabled: true, ...userCodes, ...devicePages },
    rpInitiatedLogout: { enabled: true, ...signOutPagesOf(prefixOf(authUrl)) },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => baseUrl,
      useGrantedResource: () => true,
      getResourceServerInfo(_, resource) {
        if (resource !== baseUrl) throw new errors.InvalidTarget()
        return {
          scope: '',
          audience: baseUrl,
          accessTokenTTL: tokenLifetimeSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: algorithm, kid } },
        }
      },
    },
  }
}
