// Signs one JSON Web Token with a new key. Nothing keeps the private key, so no other token can be signed with it.
import { generateKeyPairSync, sign } from 'node:crypto'

export type SignedOnce = {
  token: string
  /** A JSON Web Key Set with the public key. */
  publicKeys: string
}

export function signWithSingleUseKey(claims: Record<string, unknown>): SignedOnce {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = 'pull-token'
  const signed = [{ alg: 'ES256', typ: 'JWT', kid }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  // RFC 7518, section 3.4: the signature is r and s, without ASN.1.
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const key = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }
  return {
    token: `${signed}.${signature.toString('base64url')}`,
    publicKeys: JSON.stringify({ keys: [key] }),
  }
}
