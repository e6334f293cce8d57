// RSA keys. Generating one takes 0.1 seconds, in a thread of libuv.
import { generateKeyPair } from 'node:crypto'
import type { JWK } from 'jose'

/** Makes a new private key. */
export type MakeRsaKey = () => Promise<JWK>

export const makeRsaKey: MakeRsaKey = () =>
  new Promise((resolve, reject) => {
    generateKeyPair('rsa', { modulusLength: 2048 }, (error, _publicKey, privateKey) =>
      error ? reject(error) : resolve(privateKey.export({ format: 'jwk' }) as JWK),
    )
  })

/** Begins to make a key at once. The first call of the returned function returns it; further calls make new ones. */
export function makeRsaKeyEarly(make = makeRsaKey): MakeRsaKey {
  let early: Promise<JWK> | undefined = make()
  early.catch(() => {}) // the first call reports the error
  return () => {
    const key = early ?? make()
    early = undefined
    return key
  }
}
