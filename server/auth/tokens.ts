// Access tokens (RFC 9068): they say who calls, never what the caller may do.
import { randomUUID } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import { unauthenticated } from '../aip/errors.ts'
import { isUid } from '../aip/uid.ts'
import type { Caller, Narrowing } from '../wire/caller.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import type { KeyRing } from './keys.ts'
import { signingAlgorithm } from './keys.ts'

export const tokenLifetime = 3600
export const tokenType = 'at+jwt'
const longestToken = 16 * 1024
const mostRemembered = 10_000
const reloadPause = 1000

export type TokenParties = { issuer: string; audience: string | string[] }

/** Whom a token can be for: the API, the issuer, and the registry, which is known by its host. */
export const givenAudiences = (baseUrl: string, authUrl: string) => [
  ...new Set([baseUrl, authUrl, new URL(baseUrl).host]),
]

/** What a token may say besides who its bearer is. */
export type MoreClaims = {
  /** Whose token it was exchanged for (RFC 8693). */
  act?: { iss: string; sub: string; aud: string }
  email?: string
  narrowing?: Narrowing
  /** When it ends, in seconds, if not after an hour. */
  latest?: number
}

export async function mintToken(
  keys: KeyRing,
  parties: TokenParties,
  identity: string,
  now: number,
  { act, email, narrowing = {}, latest }: MoreClaims = {},
): Promise<string> {
  const { kid, privateKey } = keys.signing()
  const issued = Math.floor(now / 1000)
  const { scopes, capabilities } = narrowing
  const claims = {
    client_id: 'stemmad',
    ...(act && { act }),
    ...(email && { email, email_verified: true }),
    ...(scopes && { scopes }),
    ...(capabilities && { cap: capabilities }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: signingAlgorithm, typ: tokenType, kid })
    .setIssuer(parties.issuer)
    .setAudience(parties.audience)
    .setSubject(identity)
    .setIssuedAt(issued)
    .setNotBefore(issued)
    .setExpirationTime(latest ?? issued + tokenLifetime)
    .setJti(randomUUID())
    .sign(privateKey)
}

type Remembered = { authorization: string; caller: Caller; expires: number; kid: string }

export type Authenticate = (authorization: string | undefined) => MaybePromise<Caller>

/** Verifying a signature costs more than all the rest of a call, so headers are remembered until they expire. */
export function openAuthenticator(keys: KeyRing, parties: TokenParties, now: () => number): Authenticate {
  const remembered = new Map<string, Remembered>()
  let reloaded = 0

  function recall(authorization: string): Caller | undefined {
    const known = remembered.get(endOf(authorization))
    if (known?.authorization !== authorization) return undefined
    if (known.expires > now() && keys.findSigning(known.kid)) return known.caller
    remembered.delete(endOf(authorization))
    return undefined
  }

  function remember(entry: Remembered): void {
    if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value as string) // not empty
    remembered.set(endOf(entry.authorization), entry)
  }

  async function findKey(kid: string) {
    const known = keys.findSigning(kid)
    if (known || now() - reloaded < reloadPause) return known
    reloaded = now()
    await keys.reload()
    return keys.findSigning(kid)
  }

  async function verify(authorization: string): Promise<Caller> {
    const token = bearerOf(authorization)
    const kid = keyIdOf(token)
    const key = await findKey(kid)
    if (!key) throw invalid('the token was not signed by this service')
    const { payload } = await jwtVerify(token, key.publicKey, {
      ...parties,
      algorithms: [signingAlgorithm],
      typ: tokenType,
      requiredClaims: ['sub', 'exp', 'iat'],
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw explain(error, parties)
    })
    const entry = { authorization, caller: callerOf(payload), expires: (payload.exp ?? 0) * 1000, kid }
    remember(entry)
    return entry.caller
  }

  return (authorization) => {
    if (authorization === undefined)
      throw unauthenticated('this call needs the header Authorization: Bearer <access token>')
    return recall(authorization) ?? verify(authorization)
  }
}

/** The half of a signature: as different as the whole header, and sooner looked up. */
const endOf = (authorization: string) => authorization.slice(-43)

function bearerOf(authorization: string): string {
  const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization) ?? []
  if (token === undefined || token.length > longestToken)
    throw invalid('the Authorization header must be Bearer <access token>')
  return token
}

function keyIdOf(token: string): string {
  try {
    return decodeProtectedHeader(token).kid ?? ''
  } catch {
    throw invalid('the token is no JSON Web Token')
  }
}

/** What a verified token keeps its bearer to. */
export const narrowingOf = ({ scopes, cap }: JWTPayload): Narrowing => ({
  ...textsOf('scopes', scopes),
  ...textsOf('capabilities', cap),
})

function callerOf(payload: JWTPayload): Caller {
  const { sub = '', iat = 0 } = payload
  if (typeof sub !== 'string' || !isUid(sub)) throw invalid('the subject of the token is no identity')
  const narrowing = narrowingOf(payload)
  return { identity: sub, issuedAt: iat, ...(Object.keys(narrowing).length > 0 && { narrowing }) }
}

function textsOf(key: keyof Narrowing, claim: unknown): Narrowing {
  if (claim === undefined) return {}
  if (!Array.isArray(claim) || !claim.every((one) => typeof one === 'string'))
    throw invalid(`the claim ${key} of the token is not as it must be`)
  return { [key]: claim }
}

function explain(error: unknown, { audience }: TokenParties) {
  if (error instanceof errors.JWTExpired) return invalid('the token has expired; get a new one')
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'aud'
      ? invalid(`the audience of the token must be ${audience}`)
      : invalid(`the claim ${error.claim} of the token is not as it must be`)
  }
  if (error instanceof errors.JOSEError) return invalid('the token is not valid')
  return error
}

const invalid = (text: string) => unauthenticated(text, `error="invalid_token", error_description="${text}"`)
