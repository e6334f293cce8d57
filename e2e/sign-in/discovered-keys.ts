// Reads the discovery document of an issuer, as a verifier of its tokens does.
import type { JWTVerifyGetKey } from 'jose'
import { createRemoteJWKSet } from 'jose'

type Discovery = { issuer: string; jwks_uri: string; id_token_signing_alg_values_supported: string[] }

export const discover = async (url: string): Promise<Discovery> =>
  (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as Discovery

export const discoveredKeys = async (url: string): Promise<JWTVerifyGetKey> =>
  createRemoteJWKSet(new URL((await discover(url)).jwks_uri))
