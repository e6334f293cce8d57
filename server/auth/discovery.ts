// What others read to verify our tokens (OpenID Connect Discovery, RFC 8414).
import type { KeyRing } from './keys.ts'
import { signingAlgorithm } from './keys.ts'

type Answer = { status: number; type: string; body: string; cacheFor: number }

/** Shorter than a new key waits before it is used. */
const cacheFor = 300
const keysPath = '/.well-known/jwks.json'

/** Each path below the auth URL with what is answered there. */
export function discoveryPaths(authUrl: string, keys: KeyRing): Record<string, () => Answer> {
  const prefix = new URL(authUrl).pathname.replace(/\/$/, '')
  const json = (value: unknown): Answer => ({
    ...{ status: 200, type: 'application/json', cacheFor },
    body: JSON.stringify(value),
  })
  const document = {
    issuer: authUrl,
    jwks_uri: authUrl + keysPath,
    token_endpoint: `${authUrl}/sts/exchange`,
    response_types_supported: ['none'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [signingAlgorithm],
  }
  return {
    [`${prefix}/.well-known/openid-configuration`]: () => json(document),
    [`${prefix}/.well-known/oauth-authorization-server`]: () => json(document),
    [prefix + keysPath]: () => json({ keys: keys.published() }),
  }
}
