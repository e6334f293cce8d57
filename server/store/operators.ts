// People who may administer the server through the API. An operator needs a local account whose address is verified, so
// that no identity provider and no invite can decide who is an operator.
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

export function* isOperator(identity: string): Work<boolean> {
  return (yield* first(operatorRow(identity))) !== undefined
}

/** Like `isOperator`, for a transaction that writes. On PostgreSQL, nobody can remove the operator before it ends. */
export function* lockOperator(identity: string): Work<boolean> {
  return (yield* first(sql`${operatorRow(identity)} /*pg for share */`)) !== undefined
}

const operatorRow = (identity: string) => sql`select 1 from operators o
  join accounts a on a.identity = o.identity where o.identity = ${identity} and a.is_vouched = 1`

/** Returns false if the person was an operator already. */
export function* insertOperator(identity: string, now: number): Work<boolean> {
  const rows = yield* all(sql`insert into operators (identity, create_time) values (${identity}, ${now})
    on conflict do nothing returning identity`)
  return rows.length > 0
}

/** Returns whether the person was an operator. */
export function* deleteOperator(identity: string): Work<boolean> {
  const rows = yield* all(sql`delete from operators where identity = ${identity} returning identity`)
  return rows.length > 0
}

export type Operator = { identity: string; email: string }

/** All operators, in order of their addresses. There are few: only commands and the set-up link add operators. */
export function* readOperators(): Work<Operator[]> {
  const rows =
    yield* all(sql`select o.identity, a.email from operators o join accounts a on a.identity = o.identity
    where a.is_vouched = 1 order by a.email`)
  return rows.map(([identity, email]) => ({ identity: identity as string, email: email as string }))
}
