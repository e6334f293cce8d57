// Fetches the keys of an issuer by its discovery document (OpenID Connect Discovery, 4).
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet } from 'jose'
import type { IssuerRule } from '../../claims/issuer.ts'
import { isTrustedIssuer } from '../../claims/issuer.ts'
import type { FetchJson } from '../outbound/fetch-json.ts'
import { OutboundError } from '../outbound/outbound.ts'

const maxKeys = 100

export async function discoverKeys(
  fetchJson: FetchJson,
  issuer: string,
  rule: IssuerRule,
): Promise<JWTVerifyGetKey> {
  // Trusted issuers may use http and private addresses; other issuers only https and public ones.
  const isTrusted = isTrustedIssuer(issuer, rule)
  const documentUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = requireObject(await fetchJson(documentUrl, isTrusted), documentUrl)
  if (document.issuer !== issuer) throw new OutboundError(`${documentUrl} names another issuer`)
  const keysUrl = document.jwks_uri
  if (typeof keysUrl !== 'string' || !URL.canParse(keysUrl))
    throw new OutboundError(`${documentUrl} has no valid jwks_uri`)
  // Trust in an issuer does not extend to the hosts that its document names.
  const isSameOrigin = new URL(keysUrl).origin === new URL(issuer).origin
  const { keys } = requireObject(await fetchJson(keysUrl, isTrusted && isSameOrigin), keysUrl)
  return keySetOf(keys, keysUrl)
}

function keySetOf(keys: unknown, url: string): JWTVerifyGetKey {
  if (!Array.isArray(keys)) throw new OutboundError(`${url} is not a key set`)
  // A published symmetric key would be a shared secret that everyone knows.
  const usable = keys.slice(0, maxKeys).filter((key) => key?.kty !== 'oct')
  try {
    return createLocalJWKSet({ keys: usable } as JSONWebKeySet) // throws if the key set is malformed
  } catch (cause) {
    throw new OutboundError(`${url} is not a key set`, { cause })
  }
}

function requireObject(value: unknown, url: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown> // checked just now
  throw new OutboundError(`${url} is not a JSON object`)
}
