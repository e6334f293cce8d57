// Entity tags (RFC 7644 section 3.14). They are weak, because the JSON of a version can differ in computed attributes.
import { ScimError } from './errors.ts'

export const etagOf = (version: number) => `W/"${version}"`

/** Clients repeat weak tags in If-Match, so tags are compared weakly, unlike in RFC 9110 section 13.1.1. */
const isListed = (header: string, version: number) =>
  header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === `"${version}"`)

export function requireMatch(ifMatch: string | undefined, version: number): void {
  if (ifMatch !== undefined && !isListed(ifMatch, version))
    throw new ScimError(
      412,
      'the resource has changed since it was read; read it again, then repeat the change',
    )
}

export const isUnchanged = (ifNoneMatch: string | undefined, version: number) =>
  ifNoneMatch !== undefined && isListed(ifNoneMatch, version)
