// User names and passwords of registry clients (RFC 7617). Clients such as docker know no other credentials.

/** The user name with which clients send an access token as the password. */
export const tokenUser = '_token'

export type BasicCredentials = { user: string; password: string }

/** Undefined if the header is not of this kind. */
export function readBasic(authorization: string): BasicCredentials | undefined {
  const [, encoded] = /^basic +([a-z0-9+/]+=*) *$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const separator = text.indexOf(':')
  return separator < 0 ? undefined : { user: text.slice(0, separator), password: text.slice(separator + 1) }
}
