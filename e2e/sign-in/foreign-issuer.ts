// A third-party issuer: a real server with a discovery document and keys, which signs any claims.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export type ForeignIssuer = {
  issuer: string
  /** The number of requests for each path. */
  requestCounts: Map<string, number>
  /** Signs a token that is valid unless `claims` or `header` replace its defaults. */
  sign(claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>
  /** The current signing key. */
  key(): { kid: string; privateKey: CryptoKey; jwk: JWK }
  /** Signs with a new key from now on. */
  rotate(): Promise<void>
  /** Replaces the response of a path. */
  replaceResponse(path: string, answer: (request: IncomingMessage, response: ServerResponse) => void): void
  close(): Promise<void>
}

export const discoveryPath = '/.well-known/openid-configuration'
export const keysPath = '/keys'

export async function startIssuer(algorithm = 'RS256'): Promise<ForeignIssuer> {
  const requestCounts = new Map<string, number>()
  const replacements = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>()
  let key = await makeKey(algorithm, 'key-1')
  let keyCount = 1

  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requestCounts.set(path, (requestCounts.get(path) ?? 0) + 1)
    const answer = replacements.get(path)
    if (answer) return answer(request, response)
    const json = (value: unknown) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (path === discoveryPath) json({ issuer, jwks_uri: issuer + keysPath })
    else if (path === keysPath) json({ keys: [key.jwk] })
    else response.writeHead(404).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // address() returns a string only for pipes

  return {
    issuer,
    requestCounts,
    key: () => key,
    sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000)
      const defaults = { iss: issuer, sub: 'robot', aud: 'http://stemma.test', iat: now, exp: now + 600 }
      return new SignJWT({ ...defaults, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: key.kid, ...header })
        .sign(key.privateKey)
    },
    async rotate() {
      key = await makeKey(algorithm, `key-${++keyCount}`)
    },
    replaceResponse: (path, answer) => replacements.set(path, answer),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function makeKey(algorithm: string, kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' }
  return { kid, privateKey, jwk }
}
