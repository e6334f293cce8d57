// Entity tags (RFC 9110). The tag of a resource is its update time, which increases with every change.
import { aborted } from './errors.ts'

export const etagOf = (updateTime: number) => `"${updateTime}"`

/** Compares If-Match with the current version. Weak tags never match (RFC 9110 section 13.1.1). */
export function requireMatch(ifMatch: string | undefined, updateTime: number): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  if (tags.includes(etagOf(updateTime))) return
  throw aborted(
    tags.some((tag) => strongTag.test(tag))
      ? 'the resource has changed since it was read; read it again, then repeat the change'
      : 'If-Match must contain the ETag of the resource, with its quotation marks and without W/',
    412,
  )
}

const strongTag = /^".*"$/

/** For a resource that does not exist: no If-Match header matches it (RFC 9110 section 13.1.1). */
export function requireNoIfMatch(ifMatch: string | undefined): void {
  if (ifMatch !== undefined) throw aborted('the resource does not exist, so it cannot match If-Match', 412)
}
