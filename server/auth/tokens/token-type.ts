// Access tokens and id tokens are distinguished by the `typ` of their header (RFC 8725, 3.11).
import { decodeProtectedHeader } from 'jose'

/** The type of access tokens (RFC 9068, 2.1). Id tokens have another type or none. */
export const tokenType = 'at+jwt'

/** Whether a token that is not verified yet has the type of an access token. */
export const isAccessToken = (token: string) => typeOf(token) === tokenType

/** Undefined if the token has no type, or is not a JSON Web Token. */
export function typeOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).typ
  } catch {
    return undefined
  }
}
