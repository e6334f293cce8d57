// Keys that sign tokens.
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { MakeRsaKey } from './rsa-key.ts'

/** The algorithms of access tokens. */
export type TokenAlgorithm = 'RS256' | 'ES256'
/** The algorithm of id tokens. Every OpenID provider must support it (OpenID Connect Core, 15.1). */
export const idTokenAlgorithm = 'RS256'

export type SigningKey = {
  kid: string
  algorithm: TokenAlgorithm
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
  privateJwk: JWK
  /** When its successor replaces it, in milliseconds since 1970; infinite while there is no successor. */
  retireTime: number
}

/** Makes a new key. `plain` is its private JWK as JSON, not encrypted yet. */
export async function makeSigningKey(
  algorithm: TokenAlgorithm,
  makeRsaKey: MakeRsaKey,
): Promise<{ kid: string; plain: Buffer }> {
  const jwk = algorithm === 'RS256' ? await makeRsaKey() : await makeEcKey(algorithm)
  return { kid: await calculateJwkThumbprint(jwk), plain: Buffer.from(JSON.stringify(jwk)) }
}

async function makeEcKey(algorithm: TokenAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return exportJWK(privateKey)
}

export async function importSigningKey(
  { kid, plain, retireTime }: { kid: string; plain: Buffer; retireTime: number },
  algorithm: TokenAlgorithm,
): Promise<SigningKey> {
  const jwk = JSON.parse(plain.toString()) as JWK
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicPart } = jwk
  const metadata = { kid, alg: algorithm, use: 'sig' }
  return {
    ...{ kid, algorithm, retireTime },
    // importJWK returns a CryptoKey for every asymmetric JWK.
    privateKey: (await importJWK(jwk, algorithm)) as CryptoKey,
    publicKey: (await importJWK(publicPart, algorithm)) as CryptoKey,
    publicJwk: { ...publicPart, ...metadata },
    privateJwk: { ...jwk, ...metadata },
  }
}
