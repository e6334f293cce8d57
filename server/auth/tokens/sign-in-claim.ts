// The claim `sign_in` of an access token: the sign-in that the token comes from, directly or by exchanges.
import type { JWTPayload } from 'jose'
import { parentOf } from '../../aip/uid.ts'
import type { SignIn } from '../../wire/caller.ts'
import { invalidToken } from './invalid-token.ts'

export const signInClaim = ({ person, signedInAt, id, provider }: SignIn) => ({
  sign_in: { sub: person, time: signedInAt, ...(id !== '' && { id }), ...(provider && { idp: provider }) },
})

/**
 * The sign-in of a verified token. If the token of a person has no claim, the sign-in began when the token was issued.
 * Undefined for the token of a workload without the claim.
 */
export function signInOf({ sub = '', iat = 0, sign_in: claim }: JWTPayload): SignIn | undefined {
  if (claim === undefined) return parentOf(sub) === '' ? { person: sub, signedInAt: iat, id: '' } : undefined
  const { sub: person, time, id = '', idp: provider } = (claim ?? {}) as Record<string, unknown>
  const hasValidProvider = provider === undefined || typeof provider === 'string'
  if (typeof person !== 'string' || typeof time !== 'number' || typeof id !== 'string' || !hasValidProvider)
    throw invalidToken('the claim sign_in of the token is not valid')
  return { person, signedInAt: time, id, ...(provider !== undefined && { provider }) }
}
