// Makes access tokens (RFC 9068). They say who calls, never what the caller may do.
import { SignJWT } from 'jose'
import type { RandomBytes } from '../../crypto/random.ts'
import type { SignIn, TokenLimits } from '../../wire/caller.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { signInClaim } from './sign-in-claim.ts'
import { tokenType } from './token-type.ts'

export const tokenLifetimeSeconds = 3600

/** The audiences that a token can be issued for: the API, the issuer, and the registry, which is named by its host. */
export const issuableAudiences = (baseUrl: string, authUrl: string) => [
  ...new Set([baseUrl, authUrl, new URL(baseUrl).host]),
]

export type MintDependencies = { keys: KeyRing; authUrl: string; now(): number; random: RandomBytes }

export type NewToken = {
  /** The uid of the identity that the token is for. */
  identity: string
  audience: string | string[]
  /** The claim `act` (RFC 8693, 4.1): issuer, subject and audience of the token that was presented in the exchange. */
  act?: { iss: string; sub: string; aud: string }
  email?: string
  limits?: TokenLimits
  /** The sign-in that the token comes from. The token stops working when the sign-in is ended. */
  signIn?: SignIn | undefined
  /** When the token expires, in seconds since 1970; by default an hour from now. */
  expires?: number
}

export async function mintToken(
  { keys, authUrl, now, random }: MintDependencies,
  { identity, audience, act, email, limits = {}, signIn, expires }: NewToken,
): Promise<string> {
  const { kid, algorithm, privateKey } = keys.signing()
  const issued = Math.floor(now() / 1000)
  const { scopes, capabilities } = limits
  const claims = {
    client_id: 'stemmad',
    ...(act && { act }),
    ...(email && { email, email_verified: true }),
    ...(signIn && signInClaim(signIn)),
    ...(scopes && { scopes }),
    ...(capabilities && { cap: capabilities }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, typ: tokenType, kid })
    .setIssuer(authUrl)
    .setAudience(audience)
    .setSubject(identity)
    .setIssuedAt(issued)
    .setNotBefore(issued)
    .setExpirationTime(expires ?? issued + tokenLifetimeSeconds)
    .setJti(random(16).toString('base64url'))
    .sign(privateKey)
}
