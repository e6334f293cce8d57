// The decision whether grants contain capabilities at a uid, and until when. Answers of AccessService are made of it.
import { rootLength, segmentLength } from '../aip/uid.ts'
import type { Grant } from './grants.ts'

/** Grants by the group in which they apply. */
export type GrantIndex = ReadonlyMap<string, readonly Grant[]>

export function indexByGroup(list: readonly Grant[]): GrantIndex {
  const index = new Map<string, Grant[]>()
  for (const grant of list) {
    const grants = index.get(grant.group)
    if (grants) grants.push(grant)
    else index.set(grant.group, [grant])
  }
  return index
}

/** The end of access that does not end by itself. */
export const forever = Number.POSITIVE_INFINITY
/** The end of access that does not exist. */
export const noAccess = 0

/**
 * When access with all of these capabilities (as bits) at a uid ends, in milliseconds since 1970: `forever` if it does
 * not end by itself, `noAccess` if a capability is missing. Each capability may come from a different grant, and lasts
 * as long as the longest of its grants. Looks at the groups above the uid only, in about a microsecond.
 */
export function accessEnd(index: GrantIndex, bits: readonly number[], uid: string): number {
  if (bits.length === 0) return forever
  const applicable = grantsAbove(index, uid)
  let end = forever
  for (const bit of bits) {
    end = Math.min(end, latestEnd(applicable, bit))
    if (end === noAccess) return noAccess
  }
  return end
}

function grantsAbove(index: GrantIndex, uid: string): readonly Grant[] {
  let found: readonly Grant[] = []
  if (index.size === 0) return found
  for (let end = rootLength; end <= uid.length; end += segmentLength) {
    const grants = index.get(uid.slice(0, end))
    if (grants) found = found.length === 0 ? grants : [...found, ...grants]
  }
  return found
}

function latestEnd(grants: readonly Grant[], bit: number): number {
  let latest = noAccess
  for (const { bits, until } of grants) {
    if (!bits.has(bit)) continue
    if (until === undefined) return forever
    if (until > latest) latest = until
  }
  return latest
}
