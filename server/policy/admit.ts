// The first step of every call's work. Nothing is read or changed for a caller who was not admitted, and
// nobody learns what is wrong with a request that they may not make.

import type { StatusError } from '../aip/errors.ts'
import { invalidField, notFound, permissionDenied } from '../aip/errors.ts'
import { isUid } from '../aip/uid.ts'
import type { Row, Sql } from '../store/sql.ts'
import type { Form, Table } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { Caller } from '../wire/caller.ts'
import { nameOf } from './capabilities.ts'
import type { Grants, ParseGrants } from './grants.ts'
import { holds } from './grants.ts'
import type { RenderedRow } from './read-grants.ts'
import { grantsWithRow, readGrants, splitGrantsAndRow } from './read-grants.ts'

/** What the contract asks of the caller of a method, for one request. */
export type Demand = {
  caller: Caller
  capabilities: readonly number[]
  /** The uid at which they must be held; `` where the request names none. */
  scope: string
  /** The name of the field that holds the scope. */
  scopeField: string
  unscoped: boolean
  /** What the request's values break of the contract's rules. */
  fault: StatusError | undefined
  /** What the scope names, for an answer that it does not exist. */
  resourceType: string
  parseGrants: ParseGrants
}

export function* admit(demand: Demand, isWrite: boolean): Work<Grants> {
  const place = scopeOf(demand)
  const grants = yield* readGrants(demand.caller, place, isWrite, demand.parseGrants)
  return decide(demand, grants)
}

export type RowAdmission = { statement: Sql; open(rows: Row[]): RenderedRow | undefined }

/** For a call that reads one row: the statement to run, and what to make of its answer. */
export function admitToRow(demand: Demand, table: Table, form: Form): RowAdmission {
  const place = scopeOf(demand)
  if (place === undefined) throw invalidField(demand.scopeField, 'is required')
  return {
    statement: grantsWithRow(demand.caller, place, table, form),
    open(rows) {
      const { grants, row } = splitGrantsAndRow(demand.caller, place, rows, demand.parseGrants)
      decide(demand, grants)
      return row
    },
  }
}

function scopeOf({ scope, scopeField, unscoped, resourceType }: Demand): string | undefined {
  if (scope === '') {
    if (unscoped) return undefined
    throw invalidField(scopeField, 'is required')
  }
  if (!isUid(scope)) throw notFound(resourceType, scope)
  return scope
}

function decide(demand: Demand, grants: Grants): Grants {
  const { capabilities, scope, fault } = demand
  if (scope !== '' && !holds(grants, capabilities, scope)) {
    const lacking = capabilities.find((capability) => !holds(grants, [capability], scope)) ?? 0
    throw permissionDenied(nameOf(lacking), scope)
  }
  if (fault) throw fault
  return grants
}
