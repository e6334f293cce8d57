// An OpenID Provider whose only person is always signed in, so that it shows no page. Like many providers it sends no
// `iss` parameter to the callback (RFC 9207).
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { JWTPayload } from 'jose'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { clientId, clientSecret } from './organization-provider.ts'

export type PromptlessProvider = {
  issuer: string
  /** The requests to its token endpoint. */
  tokenRequests: URLSearchParams[]
  /** Redirects people to another URL instead of the callback; undefined restores the callback. */
  divert(urlOf: ((query: URLSearchParams) => string) | undefined): void
  close(): void
}

type AuthorizationRequest = { nonce: string; challenge: string; redirectUri: string }

/** `claims` are in every token, besides the subject. */
export async function startPromptlessProvider(
  sub: string,
  claims: JWTPayload = {},
): Promise<PromptlessProvider> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const requestsByCode = new Map<string, AuthorizationRequest>()
  const tokenRequests: URLSearchParams[] = []
  let divertedUrlOf: ((query: URLSearchParams) => string) | undefined

  function authorize(query: URLSearchParams): string {
    if (divertedUrlOf) return divertedUrlOf(query)
    const [code, callback] = [randomUUID(), new URL(query.get('redirect_uri') ?? '')]
    const [nonce, challenge] = [query.get('nonce') ?? '', query.get('code_challenge') ?? '']
    requestsByCode.set(code, { nonce, challenge, redirectUri: callback.href })
    callback.search = new URLSearchParams({ code, state: query.get('state') ?? '' }).toString()
    return callback.href
  }

  async function redeem(form: URLSearchParams, authorization: string) {
    tokenRequests.push(form)
    const request = requestsByCode.get(form.get('code') ?? '')
    const computedChallenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isValid =
      request?.redirectUri === form.get('redirect_uri') &&
      (request.challenge === '' || request.challenge === computedChallenge) &&
      decodeURIComponent(Buffer.from(authorization.slice(6), 'base64').toString().replaceAll('+', ' ')) ===
        `${clientId}:${clientSecret}`
    if (!request || !isValid) return { error: 'invalid_grant' }
    const token = new SignJWT({ ...claims, nonce: request.nonce, sub })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setIssuedAt()
      .setExpirationTime('5m')
    return { access_token: 'x', token_type: 'Bearer', id_token: await token.sign(privateKey) }
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer)
    const json = (value: object) =>
      response
        .writeHead('error' in value ? 400 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(value))
    if (pathname === '/authorize') response.writeHead(303, { location: authorize(searchParams) }).end()
    else if (pathname === '/keys') json({ keys: [jwk] })
    else if (pathname === '/token')
      json(await redeem(new URLSearchParams(await text(request)), request.headers.authorization ?? ''))
    else
      json({
        ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ['ES256'] },
      })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // address() returns a string only for pipes
  return {
    ...{ issuer, tokenRequests },
    divert(urlOf) {
      divertedUrlOf = urlOf
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
