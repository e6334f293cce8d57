// The grants of a caller: which capabilities the caller has in which groups.
import type { Region } from '../aip/region.ts'
import { disjoint, intersectAll } from '../aip/region.ts'
import { isAtOrBelow, lineage } from '../aip/uid.ts'
import { BoundedMap } from '../bounded-map.ts'
import { neverExpires } from '../store/expiry.ts'
import type { Caller, TokenLimits } from '../wire/caller.ts'
import type { Bits } from './bits.ts'
import { decodeBits } from './bits.ts'
import { capabilityNamed, capabilityOf } from './capabilities.ts'

export type Grants = {
  caller: Caller
  /** When the grants were read, in milliseconds since 1970. */
  time: number
  list: readonly Grant[]
}

/**
 * The capabilities of one role binding. They apply in its group and everywhere below. `until` is the time at which the
 * grant ends, in milliseconds since 1970; undefined if it does not end by itself.
 */
export type Grant = { group: string; bits: Bits; until?: number | undefined }

/**
 * Parses the grants of an identity as read-grants.ts selects them: separated by commas, each `GROUP BITS` or
 * `GROUP BITS UNTIL`.
 */
export type ParseGrants = (text: string) => readonly Grant[]

export const parseGrants: ParseGrants = (text) => parseWith(text, decodeBits)

const maxCachedTexts = 1000
/** Longer texts, of callers with many bindings, are not cached: a thousand of them would fill the memory. */
const maxCachedTextLength = 16_384
const maxCachedBits = 1000

/** A parser with a cache: most callers have the same grants in every call, and decoding bits takes microseconds. */
export function openGrantParser(): ParseGrants {
  const parsed = new BoundedMap<string, readonly Grant[]>(maxCachedTexts)
  const decoded = new BoundedMap<string, Bits>(maxCachedBits)
  const decode = (bits: string) => decoded.getOrMake(bits, () => decodeBits(bits))
  return (text) => {
    if (text.length > maxCachedTextLength) return parseWith(text, decode)
    let list = parsed.get(text)
    if (!list) {
      list = parseWith(text, decode)
      parsed.set(text, list)
    }
    return list
  }
}

function parseWith(text: string, decode: (bits: string) => Bits): Grant[] {
  return text.split(',').map((grant) => {
    const [group = '', bits = '', until] = grant.split(' ')
    return { group, bits: decode(bits), until: until === undefined ? undefined : endOf(Number(until)) }
  })
}

const endOf = (time: number) => (time < neverExpires ? time : undefined)

/** The grants that remain for a token that is restricted to some groups or capabilities. */
export function withinLimits(list: readonly Grant[], { scopes, capabilities }: TokenLimits): Grant[] {
  const allowed = capabilities && new Set(capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? []))
  const remaining = list.map(({ group, bits, until }) => ({
    group,
    bits: allowed ? bits.intersection(allowed) : bits,
    until,
  }))
  if (!scopes) return remaining
  return remaining.flatMap(({ group, bits, until }) =>
    scopes.flatMap((scope) => {
      // A grant above the scope applies in the scope only; a grant inside the scope stays where it is.
      if (isAtOrBelow(scope, group)) return [{ group: scope, bits, until }]
      return isAtOrBelow(group, scope) ? [{ group, bits, until }] : []
    }),
  )
}

/** Whether all of the capabilities are held at a uid; each may be granted by a different binding. */
export function holds(grants: Grants, capabilities: readonly number[], uid: string): boolean {
  return capabilities.every((capability) => {
    const bit = capabilityOf(capability)?.bit
    return (
      bit !== undefined && grants.list.some(({ group, bits }) => bits.has(bit) && isAtOrBelow(uid, group))
    )
  })
}

/** The first of these bits that is not held at a uid. */
export function missingAt(grants: Grants, bits: Bits, uid: string): number | undefined {
  const applicable = grants.list.filter(({ group }) => isAtOrBelow(uid, group))
  return [...bits].find((bit) => !applicable.some((grant) => grant.bits.has(bit)))
}

/**
 * Like `missingAt`, but for many uids: the grants are indexed by group once, and then each uid needs only one look-up
 * for each of its levels.
 */
export function indexGrants({ list }: Grants): (bits: Bits, uid: string) => number | undefined {
  const byGroup = new Map<string, Bits>()
  for (const { group, bits } of list) byGroup.set(group, byGroup.get(group)?.union(bits) ?? bits)
  return (bits, uid) => {
    const applicable = lineage(uid).flatMap((group) => byGroup.get(group) ?? [])
    return [...bits].find((bit) => !applicable.some((held) => held.has(bit)))
  }
}

/** The regions in which all of the capabilities are held. */
export function grantedRegions(grants: Grants, capabilities: readonly number[]): Region[] {
  const [first = [], ...others] = capabilities.map((capability) => regionsOf(grants, capability))
  return others.reduce(intersectAll, first)
}

function regionsOf(grants: Grants, capability: number): Region[] {
  const bit = capabilityOf(capability)?.bit
  const granting = grants.list.filter(({ bits }) => bit !== undefined && bits.has(bit))
  return disjoint(granting.map(({ group }): Region => ({ kind: 'tree', uid: group })))
}
