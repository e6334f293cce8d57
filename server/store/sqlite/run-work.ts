// Runs a work on a connection synchronously.

import { rowsOfSnapshot, snapshotStatement } from '../snapshot.ts'
import type { Row, Sql } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import { StoreError } from '../store-error.ts'
import { batchQuestion, runsNoBatches } from '../together.ts'
import type { Work } from '../work.ts'
import { abort } from '../work.ts'
import type { Connection } from './connection.ts'
import { translate } from './errors.ts'

/** A write has no snapshot, because it also sees its own uncommitted changes. */
const noSnapshot = () => undefined

export type WorkOptions = {
  /** Called before every statement that is not a `select`. */
  onWrite?: () => void
  /** See snapshot.ts. */
  snapshot?: () => object | undefined
}

export function runWork<T>(
  connection: Connection,
  work: Work<T>,
  { onWrite, snapshot = noSnapshot }: WorkOptions = {},
): T {
  let step = work.next()
  while (!step.done) {
    if (step.value === snapshotStatement) {
      step = work.next(rowsOfSnapshot(snapshot()))
      continue
    }
    if (step.value === batchQuestion) {
      step = work.next(runsNoBatches)
      continue
    }
    if (onWrite && !isSelect(step.value)) onWrite()
    step = work.next(runStatement(connection, work, step.value))
  }
  return step.value
}

const isSelect = (statement: Sql) => contentOf(statement).template[0]?.startsWith('select') ?? false

function runStatement(connection: Connection, work: Work<unknown>, statement: Sql): Row[] {
  try {
    return connection.all(statement)
  } catch (error) {
    const translated = translate(error)
    if (translated instanceof StoreError && translated.kind !== 'unavailable') return abort(work, translated)
    throw error
  }
}
