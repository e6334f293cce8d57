// The paths of SCIM: `/scim/v2/`, the uid of an identity provider, and the endpoint. The uid is a segment of 40
// hexadecimal digits and then segments of 16. The name of an endpoint is never 16 hexadecimal digits.

export const scimPath = '/scim/v2'

export const isScimPath = (path: string) => path.startsWith(`${scimPath}/`)

/** `endpoint` has the segments after the uid, such as `['Users', '0123456789abcdef']`. */
export type ScimTarget = { provider: string; endpoint: string[] }

const targetPattern = /^\/scim\/v2\/([0-9a-f]{40}(?:(?:\/|%2F)[0-9a-f]{16}){1,64})((?:\/.*)?)$/i

/** Undefined if the path has no uid of an identity provider. */
export function parseTarget(path: string): ScimTarget | undefined {
  const [, uid, rest = ''] = targetPattern.exec(path) ?? []
  if (uid === undefined) return undefined
  const provider = uid.replaceAll(/%2f/gi, '/').toLowerCase()
  const segments = rest.split('/').slice(1)
  // A slash at the end is ignored: some clients append one to the URL that they are configured with.
  if (segments.at(-1) === '') segments.pop()
  return { provider, endpoint: segments }
}
