// What a caller holds where, read in the same moment as the data it is held against.
import type { Caller } from '../aip/caller.ts'
import { unauthenticated } from '../aip/errors.ts'
import type { Region } from '../aip/region.ts'
import { disjoint, intersectAll } from '../aip/region.ts'
import { isAtOrBelow, lineage } from '../aip/uid.ts'
import type { Row, Sql } from '../store/sql.ts'
import { join, raw, sql } from '../store/sql.ts'
import type { Form, Leaving, Table } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { Bits } from './bits.ts'
import { decodeBits } from './bits.ts'
import { capabilityOf } from './capabilities.ts'

export type Grants = {
  caller: Caller
  held: readonly { place: string; bits: Bits }[]
}

/** All that a caller holds, or what reaches `place` alone. In a write, nobody revokes it before the end. */
export function* readGrants(caller: Caller, place: string | undefined, isWrite: boolean): Work<Grants> {
  const places = place === undefined ? undefined : lineage(place)
  // One statement where it can be, since rows of a union cannot be locked.
  const rows = isWrite
    ? [
        ...(yield selectIdentity(caller)),
        ...(yield sql`${selectBindings(caller, places)} /*pg for share of b */`),
      ]
    : yield selectGrants(caller, places)
  const isIdentity = ([place]: Row) => place === null
  return grantsOf(
    caller,
    rows.find(isIdentity)?.slice(2),
    rows.filter((row) => !isIdentity(row)),
  )
}

const selectIdentity = ({ identity }: Caller) =>
  sql`select null, null, create_time from identities where uid = ${identity}`

/** Their values are the identity, the places if there are any, and the identity again. */
function selectGrants(caller: Caller, places: readonly string[] | undefined): Sql {
  const pieces = remembered(`${places?.length}`, () => {
    return sql`${selectIdentity(caller)} union all ${selectBindings(caller, places)}`
  })
  return { pieces, values: [caller.identity, ...(places ?? []), caller.identity] }
}

function selectBindings({ identity }: Caller, places: readonly string[] | undefined): Sql {
  const from = places ? bindingsAt(places) : raw('role_bindings b cross join roles r where 1 = 1')
  return sql`select b.parent, r.bits, null from ${from} and b.identity = ${identity} and r.uid = b.role`
}

/**
 * Places as rows, each looked up on its own: `in` would make SQLite build a table of them first, and a join
 * that it may turn around would read all that the caller holds.
 */
const bindingsAt = (places: readonly string[]) =>
  sql`(${placeRows(places)}) p cross join role_bindings b cross join roles r where b.parent = p.place`

const placeRows = (places: readonly string[]) =>
  join(
    places.map((place) => sql`select /*pg cast( */ ${place} /*pg as text) collate "C" */ as place`),
    ' union all ',
  )

/** The grants that reach `place` together with the row of a resource, in one statement. */
export function grantsWithRow({ identity }: Caller, place: string, table: Table, form: Form): Sql {
  const places = lineage(place)
  const key = `${places.length} ${table.name} ${form.kind === 'json' ? form.shape : ''}`
  const pieces = remembered(key, () => composeGrantsWithRow(places, table, form))
  return { pieces, values: [identity, ...places, identity, place] }
}

/** One for each depth, table and form. */
const known = new Map<string, readonly string[]>()

/** Frozen, so that a driver remembers the text: these are the statements of every call. */
function remembered(key: string, compose: () => Sql): readonly string[] {
  let pieces = known.get(key)
  if (!pieces) {
    pieces = Object.freeze(compose().pieces)
    known.set(key, pieces)
  }
  return pieces
}

function composeGrantsWithRow(places: readonly string[], table: Table, form: Form): Sql {
  const leaving = table.leaving(form)
  const [json, bytes] = form.kind === 'json' ? [leaving, noBytes] : [raw('null'), leaving]
  return sql`select 'identity', null, null, create_time, ${noBytes} from identities where uid = ${''}
    union all select 'binding', b.parent, r.bits, null, ${noBytes}
      from ${bindingsAt(places)} and b.identity = ${''} and r.uid = b.role
    union all select 'row', ${json}, null, update_time, ${bytes} from ${raw(table.name)} where uid = ${''}`
}

const noBytes = raw('/*pg cast( */ null /*pg as bytea) */')

/** `leaving` is null where the row's JSON is of another shape. */
export type LeavingRow = { leaving: Leaving | null; updateTime: number }

export function splitGrantsAndRow(
  caller: Caller,
  rows: Row[],
): { grants: Grants; row: LeavingRow | undefined } {
  let identity: Row | undefined
  let row: LeavingRow | undefined
  const bindings: Row[] = []
  for (const [kind, first = null, second = null, time = null, bytes = null] of rows) {
    if (kind === 'identity') identity = [time]
    else if (kind === 'binding') bindings.push([first, second])
    else row = { leaving: (first ?? bytes) as Leaving | null, updateTime: time as number }
  }
  return { grants: grantsOf(caller, identity, bindings), row }
}

function grantsOf(caller: Caller, identity: Row | undefined, bindings: Row[]): Grants {
  const [createTime] = identity ?? []
  // A uid is never given twice, but a token must not outlive its identity into one that was restored or imported.
  if (createTime === undefined || Math.floor((createTime as number) / 1000) > caller.issuedAt) {
    throw unauthenticated('the identity of this token no longer exists', 'error="invalid_token"')
  }
  const held = bindings.map(([place, bits]) => ({ place: place as string, bits: bitsOf(bits as string) }))
  return { caller, held }
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
