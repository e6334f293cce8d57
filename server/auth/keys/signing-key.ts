// Keys that sign tokens.
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'

/** The algorithm of access tokens. */
export const signingAlgorithm = 'ES256'
/** The algorithm of id tokens, which every relying party supports (OpenID Connect Core, 15.1). */
export const idTokenAlgorithm = 'RS256'

export type SigningKey = {
  kid: string
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
  privateJwk: JWK
  /** When its successor replaces it, in milliseconds since 1970; infinite while there is no successor. */
  retireTime: number
}

/** Makes a new key. `plain` is its private JWK as JSON, not encrypted yet. */
export async function makeSigningKey(algorithm: string): Promise<{ kid: string; plain: Buffer }> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { kid: await calculateJwkThumbprint(jwk), plain: Buffer.from(JSON.stringify(jwk)) }
}

export async function importSigningKey(
  { kid, plain, retireTime }: { kid: string; plain: Buffer; retireTime: number },
  algorithm: string,
): Promise<SigningKey> {
  const jwk = JSON.parse(plain.toString()) as JWK
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicPart } = jwk
  const metadata = { kid, alg: algorithm, use: 'sig' }
  return {
    kid,
    // importJWK returns a CryptoKey for every asymmetric JWK.
    privateKey: (await importJWK(jwk, algorithm)) as CryptoKey,
    publicKey: (await importJWK(publicPart, algorithm)) as CryptoKey,
    publicJwk: { ...publicPart, ...metadata },
    privateJwk: { ...jwk, ...metadata },
    retireTime,
  }
}
