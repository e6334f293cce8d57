// Authorizes a call, as the first step of its transaction: grants and data are read from the same snapshot.
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { StatusError } from '../aip/errors.ts'
import { invalidField, notFound, permissionDenied } from '../aip/errors.ts'
import { isUid } from '../aip/uid.ts'
import type { Store } from '../store/db.ts'
import type { RowQuery } from '../store/row-query.ts'
import type { Work } from '../store/work.ts'
import type { Origin, QuotaAccess, WriteAccess } from '../store/write-access.ts'
import type { Caller } from '../wire/caller.ts'
import type { CallOrigin } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { nameOf } from './capabilities.ts'
import type { Grants, ParseGrants } from './grants.ts'
import { holds } from './grants.ts'
import { requireOperatorToRead, requireOperatorToWrite } from './operators.ts'
import { callerOrigin } from './origin.ts'
import type { GrantsAndRow } from './read-grants.ts'
import { lockGrantsAndQuotas, readGrants, readGrantsAndRow } from './read-grants.ts'

/** The access that the contract demands of the caller of a method, for one request. */
export type Demand = {
  caller: Caller
  capabilities: readonly number[]
  /** The uid at which the capabilities must be held; empty if the request names no uid. */
  scope: string
  /** The name of the field that contains the scope. */
  scopeField: string
  /** Whether the request may leave out the uid. */
  isScopeOptional: boolean
  /** Whether only operators of the server may call the method. */
  isForOperators: boolean
  /** The error to return if the request breaks the contract's rules. Only an authorized caller gets it. */
  fault: StatusError | undefined
  /** The type of the resource at the scope, for a not-found error. */
  resourceType: string
  parseGrants: ParseGrants
  /** Milliseconds since 1970. Memberships in external groups expire by this clock. */
  now(): number
  random: Origin['random']
  /** The call, for the event log. */
  origin: CallOrigin
  /** By kind, how many resources an organization may contain if it has no limit of its own. */
  defaultLimits: ReadonlyMap<string, number>
}

export function* admitToRead(demand: Demand): Work<Grants> {
  const grants = yield* readGrants(demand.caller, demand.now(), scopeOf(demand), demand.parseGrants)
  if (demand.isForOperators) yield* requireOperatorToRead(demand.caller)
  requireGranted(demand, grants)
  return grants
}

/** The grants of an authorized caller. Functions that write require them as the proof of authorization. */
export type WriteGrants = Grants & WriteAccess

/** Locks the grants until the transaction ends, so that a concurrent revocation waits. */
export function* admitToWrite(demand: Demand): Work<WriteGrants> {
  const { grants, quotasInOrganization } = yield* lockGrantsAndQuotas(
    demand.caller,
    demand.now(),
    scopeOf(demand),
    demand.parseGrants,
  )
  if (demand.isForOperators) yield* requireOperatorToWrite(demand.caller)
  requireGranted(demand, grants)
  const mayNameInErrors = (group: string) => holds(grants, [Capability.CAP_IAM_GROUPS_LIST], group)
  const quotas: QuotaAccess = { defaults: demand.defaultLimits, quotasInOrganization, mayNameInErrors }
  const origin = callerOrigin(demand.caller, demand.origin, demand)
  return { ...grants, quotas, origin } as WriteGrants // requireGranted has checked them
}

/** Authorizes a call that reads one row, and reads that row. */
export function admitToRow(store: Store, demand: Demand, query: RowQuery): MaybePromise<GrantsAndRow> {
  const scope = scopeOf(demand)
  if (demand.isForOperators) throw new Error('operators are admitted by admitToRead and admitToWrite')
  if (scope === undefined) throw invalidField(demand.scopeField, 'is required')
  const reading = { caller: demand.caller, time: demand.now(), scope, query }
  return andThen(readGrantsAndRow(store, reading, demand.parseGrants), (admitted) => {
    requireGranted(demand, admitted.grants)
    return admitted
  })
}

function scopeOf({ scope, scopeField, isScopeOptional, resourceType }: Demand): string | undefined {
  if (scope === '') {
    if (isScopeOptional) return undefined
    throw invalidField(scopeField, 'is required')
  }
  if (!isUid(scope)) throw notFound(resourceType, scope)
  return scope
}

function requireGranted({ capabilities, scope, fault }: Demand, grants: Grants): void {
  if (scope !== '' && !holds(grants, capabilities, scope)) {
    const lacking = capabilities.find((capability) => !holds(grants, [capability], scope)) ?? 0
    throw permissionDenied(nameOf(lacking), scope)
  }
  if (fault) throw fault
}
