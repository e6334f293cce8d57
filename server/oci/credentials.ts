// The credentials of registry clients, as the Authorization header that the API understands.
import { unauthenticated } from '../aip/errors.ts'

/** The user name with which clients that only know passwords send an access token. */
const tokenUser = '_token'

/** Returns other headers as they are: the corridor refuses those that are not access tokens. */
export function bearerOf(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic +([a-z0-9+/]+=*) *$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return authorization
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const separator = text.indexOf(':')
  if (text.slice(0, separator) !== tokenUser)
    throw unauthenticated(`the user name must be ${tokenUser}, and the password an access token`)
  return `Bearer ${text.slice(separator + 1)}`
}
