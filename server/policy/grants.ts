// What a caller holds where, read in the same moment as the data it is held against.

import { unauthenticated } from '../aip/errors.ts'
import type { Region } from '../aip/region.ts'
import { disjoint, intersectAll } from '../aip/region.ts'
import { isAtOrBelow, lineage } from '../aip/uid.ts'
import type { Placeholder, Placeholders, Row, Sql } from '../store/sql.ts'
import { join, prepared, raw, sql } from '../store/sql.ts'
import type { Form, Rendered, Table } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { Caller, Narrowing } from '../wire/caller.ts'
import type { Bits } from './bits.ts'
import { decodeBits } from './bits.ts'
import { capabilityNamed, capabilityOf } from './capabilities.ts'

export type Grants = {
  caller: Caller
  held: readonly Held[]
}

type Held = { place: string; bits: Bits }

/** All that a caller holds, or what reaches `place` alone. In a write, nobody revokes it before the end. */
export function* readGrants(caller: Caller, place: string | undefined, isWrite: boolean): Work<Grants> {
  const places = place === undefined ? undefined : lineage(place)
  if (!isWrite) {
    const [row] = yield selectGrants(caller, places)
    return grantsOf(caller, places, row)
  }
  // What is aggregated cannot be locked, so a write reads row by row.
  const [identity] = yield sql`select create_time from identities where uid = ${caller.identity}`
  const bindings = yield sql`select ${heldText(places)} from ${bindingsOf(places)}
    and b.identity = ${caller.identity} /*pg for share of b */`
  return grantsOf(caller, places, identity && [...identity, bindings.join()])
}

function selectGrants({ identity }: Caller, places: readonly string[] | undefined): Sql {
  return places ? prepared(grantsAt, [], [identity, ...places]) : prepared(allGrants, [], [identity])
}

const allGrants = ([identity]: Placeholders<[string]>) =>
  sql`select i.create_time, ${held(undefined)} from identities i where i.uid = ${identity}`

const grantsAt = ([identity, ...places]: Placeholders<[string, ...string[]]>) =>
  sql`select i.create_time, ${held(places)} from identities i where i.uid = ${identity}`

/** All bindings of an identity as one text: few values are read faster than many. */
const held = (places: readonly Placeholder[] | undefined) =>
  sql`(select string_agg(${heldText(places)}, ',') from ${bindingsOf(places)} and b.identity = i.uid)`

/** Where and what: the place, or its number among the places that were asked for, and the bits. */
const heldText = (places: readonly unknown[] | undefined) =>
  raw(`${places ? 'p.depth' : 'b.parent'} || ' ' || r.bits`)

/**
 * Places as rows, each looked up on its own: `in` would make SQLite build a table of them first, and a join
 * that it may turn around would read all that the caller holds.
 */
const bindingsOf = (places: readonly (string | Placeholder)[] | undefined) =>
  places
    ? sql`(${placeRows(places)}) p cross join role_bindings b cross join roles r
        where b.parent = p.place and r.uid = b.role`
    : raw('role_bindings b cross join roles r where r.uid = b.role')

const placeRows = (places: readonly (string | Placeholder)[]) =>
  join(
    places.map((place, depth) => {
      const number = raw(String(depth))
      return sql`select ${number} as depth, /*pg cast( */ ${place} /*pg as text) collate "C" */ as place`
    }),
    ' union all ',
  )

/** The grants that reach `place` together with the row of a resource, in one statement. */
export function grantsWithRow({ identity }: Caller, place: string, table: Table, form: Form): Sql {
  return prepared(grantsAndRow, [table, form], [identity, place, ...lineage(place)])
}

function grantsAndRow(
  [identity, uid, ...places]: Placeholders<[string, string, ...string[]]>,
  table: Table,
  form: Form,
): Sql {
  const row = sql`select ${table.rendered(form)} as rendered, update_time from ${raw(table.name)} where uid = ${uid}`
  return sql`select i.create_time, ${held(places)}, t.rendered, t.update_time
    from identities i left join (${row}) t on 1 = 1 where i.uid = ${identity}`
}

/** `rendered` is null where the row's JSON is of another shape. */
export type RenderedRow = { rendered: Rendered | null; updateTime: number }

export function splitGrantsAndRow(
  caller: Caller,
  place: string,
  rows: Row[],
): { grants: Grants; row: RenderedRow | undefined } {
  const [first] = rows
  const grants = grantsOf(caller, lineage(place), first)
  const [, , rendered = null, updateTime = null] = first ?? []
  const isThere = updateTime !== null
  const row = { rendered: rendered as Rendered | null, updateTime: updateTime as number }
  return { grants, row: isThere ? row : undefined }
}

/** From the time the identity was made and the text of what it holds. */
function grantsOf(caller: Caller, places: readonly string[] | undefined, row: Row | undefined): Grants {
  const [createTime, text] = row ?? []
  // A uid is never given twice, but a token must not outlive its identity into one that was restored or imported.
  if (createTime === undefined || Math.floor((createTime as number) / 1000) > caller.issuedAt) {
    throw unauthenticated('the identity of this token no longer exists', 'error="invalid_token"')
  }
  const held = text ? heldOf(text as string, places) : []
  return { caller, held: caller.narrowing ? narrowed(held, caller.narrowing) : held }
}

function heldOf(text: string, places: readonly string[] | undefined): Held[] {
  const parts = partsOf(text)
  // In place of its number, the place.
  return places ? parts.map(({ place, bits }) => ({ place: places[Number(place)] ?? '', bits })) : parts
}

/** The same callers come again and again, with the same text. */
const read = new Map<string, Held[]>()
const mostRead = 1000

function partsOf(text: string): Held[] {
  let parts = read.get(text)
  if (!parts) {
    parts = text.split(',').map((part) => {
      const [place = '', bits = ''] = part.split(' ')
      return { place, bits: bitsOf(bits) }
    })
    if (read.size >= mostRead) read.clear()
    read.set(text, parts)
  }
  return parts
}

/** What is left of what is held where a token keeps its bearer to some groups or capabilities. */
function narrowed(held: readonly Held[], { scopes, capabilities }: Narrowing): Held[] {
  const bits = capabilities && new Set(capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? []))
  const kept = bits ? held.map((one) => ({ ...one, bits: one.bits.intersection(bits) })) : [...held]
  if (!scopes) return kept
  return kept.flatMap(({ place, bits }) =>
    scopes.flatMap((scope) => {
      // Held above the group, it is held in the group; held below it, it stays where it is.
      if (isAtOrBelow(scope, place)) return [{ place: scope, bits }]
      return isAtOrBelow(place, scope) ? [{ place, bits }] : []
    }),
  )
}

const decoded = new Map<string, Bits>()
const mostDecoded = 1000

export function bitsOf(text: string): Bits {
  let bits = decoded.get(text)
  if (!bits) {
    if (decoded.size >= mostDecoded) decoded.clear()
    bits = decodeBits(text)
    decoded.set(text, bits)
  }
  return bits
}

/** Whether all of the capabilities are held at a place, by whatever bindings. */
export function holds(grants: Grants, capabilities: readonly number[], place: string): boolean {
  return capabilities.every((capability) => {
    const bit = capabilityOf(capability)?.bit
    return (
      bit !== undefined && grants.held.some((held) => held.bits.has(bit) && isAtOrBelow(place, held.place))
    )
  })
}

/** Of these capabilities, one that is not held at a place. */
export function lackingAt(grants: Grants, bits: Bits, place: string): number | undefined {
  const here = grants.held.filter((held) => isAtOrBelow(place, held.place))
  return [...bits].find((bit) => !here.some((held) => held.bits.has(bit)))
}

/** The parts of the tree in which all of the capabilities are held. */
export function reach(grants: Grants, capabilities: readonly number[]): Region[] {
  const [first = [], ...others] = capabilities.map((capability) => reachOf(grants, capability))
  return others.reduce(intersectAll, first)
}

function reachOf(grants: Grants, capability: number): Region[] {
  const bit = capabilityOf(capability)?.bit
  const held = grants.held.filter(({ bits }) => bit !== undefined && bits.has(bit))
  return disjoint(held.map(({ place }): Region => ({ kind: 'tree', uid: place })))
}
