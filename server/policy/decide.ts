// Decides whether grants contain capabilities at a uid, and until when. AccessService uses it.
import { isAtOrBelow, parentOf } from '../aip/uid.ts'
import type { Grant } from './grants.ts'

/** The end of access that does not end by itself. */
export const forever = Number.POSITIVE_INFINITY
/** The value in place of an end if there is no access. */
export const noAccess = 0

/**
 * The time, in milliseconds since 1970, at which access with all of these capabilities (as bits)
 * at a uid ends: `forever` if it does not end by itself, `noAccess` if a capability is missing.
 * Each capability may come from a different grant, and lasts as long as the longest of its grants.
 */
export type AccessEnd = (bits: readonly number[], uid: string) => number

export function accessEnd(list: readonly Grant[], bits: readonly number[], uid: string): number {
  let end = forever
  for (const bit of bits) end = Math.min(end, latestEnd(list, bit, uid))
  return end
}

/**
 * The same decision for many uids. The grants at a uid and above it are collected once. They are then found with one
 * look-up for a uid that was asked about before, and with three for another uid with the same parent, however deep the
 * tree is and however many grants there are.
 */
export function openDecisions(list: readonly Grant[]): AccessEnd {
  const nowhere: Level = { grants: [], ends: new Map() }
  const byGroup = Map.groupBy(list, ({ group }) => group)
  const levels = new Map<string, Level>([['', nowhere]])

  function levelAt(uid: string): Level {
    let level = levels.get(uid)
    if (!level) {
      const inherited = levelAt(parentOf(uid))
      const own = byGroup.get(uid)
      level = own ? { grants: [...inherited.grants, ...own], ends: new Map() } : inherited
      levels.set(uid, level)
    }
    return level
  }

  return (bits, uid) => {
    if (byGroup.size === 0) return bits.length === 0 ? forever : noAccess
    const level = levelAt(uid)
    let end = forever
    for (const bit of bits) end = Math.min(end, endIn(level, bit))
    return end
  }
}

/** The grants that apply at a uid, and the ends of the capabilities that were asked for. */
type Level = { grants: readonly Grant[]; ends: Map<number, number> }

function endIn({ grants, ends }: Level, bit: number): number {
  let end = ends.get(bit)
  if (end === undefined) {
    end = latestEnd(grants, bit)
    ends.set(bit, end)
  }
  return end
}

/** The latest end of the grants that contain a capability and apply at the uid, if one is given. */
export function latestEnd(grants: readonly Grant[], bit: number, uid?: string): number {
  let latest = noAccess
  for (const { group, bits, until } of grants) {
    if ((uid !== undefined && !isAtOrBelow(uid, group)) || !bits.has(bit)) continue
    if (until === undefined) return forever
    if (until > latest) latest = until
  }
  return latest
}
