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

export function mintToken(
  deps: MintDependencies,
  { identity, audience, act, email, limits, signIn, expires }: NewToken,
): Promise<string> {
  const claims = {
    ...(act && { act }),
    ...(email && { email, email_verified: true }),
    ...callerClaims({ signIn, limits }),
  }
  return signToken(deps, { type: tokenType, audience, subject: identity, expires, claims })
}

/** The claims with the sign-in and the limits of a caller. */
export const callerClaims = ({
  signIn,
  limits: { scopes, capabilities } = {},
}: {
  signIn?: SignIn | undefined
  limits?: TokenLimits | undefined
}): Record<string, unknown> => ({
  ...(signIn && signInClaim(signIn)),
  ...(scopes && { scopes }),
  ...(capabilities && { cap: capabilities }),
})

type SignedToken = {
  /** The `typ` of its header. */
  type: string
  audience: string | string[]
  subject?: string
  /** In seconds since 1970; by default an hour from now. */
  expires?: number | undefined
  claims: Record<string, unknown>
}

export function signToken(
  { keys, authUrl, now, random }: MintDependencies,
  { type, audience, subject, expires, claims }: SignedToken,
): Promise<string> {
  const { kid, algorithm, privateKey } = keys.signing()
  const issued = Math.floor(now() / 1000)
  const token = new SignJWT({ client_id: 'stemmad', ...claims })
    .setProtectedHeader({ alg: algorithm, typ: type, kid })
    .setIssuer(authUrl)
    .setAudience(audience)
    .setIssuedAt(issued)
    .setNotBefore(issued)
    .setExpirationTime(expires ?? issued + tokenLifetimeSeconds)
    .setJti(random(16).toString('base64url'))
  if (subject !== undefined) token.setSubject(subject)
  return token.sign(privateKey)
}
