// Key sets for identities with static keys.
import { generateKeyPairSync } from 'node:crypto'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

export const jwks = JSON.stringify({
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }],
})

/** A key set with a private key, which somebody may send by mistake. */
export const privateJwks = JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] })
