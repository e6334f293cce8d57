// Reads stored resources, locks them for an update, and replaces them.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { raw, sql } from '../store/sql.ts'
import type { Entry, LockOptions } from '../store/table.ts'
import { readForUpdate, updateEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { ExtraColumns, ExtraValues, Kind } from './kind.ts'
import { entryOf, messageOf, standardFieldsOf } from './kind.ts'

export function* readResource<D extends DescMessage>(
  kind: Kind<D>,
  uid: string,
): Work<MessageShape<D> | undefined> {
  const row = yield* first(sql`select proto from ${raw(kind.table.name)} where uid = ${uid}`)
  return row && messageOf(kind, row[0] as Uint8Array)
}

/** A resource that no other transaction changes before the current one ends. */
export type LockedResource<D extends DescMessage, X extends ExtraColumns> = {
  resource: MessageShape<D>
  proto: Uint8Array
  updateTime: number
  columns: ExtraValues<X>
}

export function* lockResource<D extends DescMessage, X extends ExtraColumns>(
  kind: Kind<D, X>,
  uid: string,
  options: Pick<LockOptions, 'liveAt'> = {},
): Work<LockedResource<D, X> | undefined> {
  const row = yield* readForUpdate(kind.table, uid, { ...options, columns: Object.keys(kind.extraColumns) })
  if (!row) return undefined
  const columns = row.columns as ExtraValues<X> // as the kind declares them
  return { ...row, resource: messageOf(kind, row.proto), columns }
}

/** Always later than the last change, even if the clock is behind it, because entity tags are made of update times. */
export const nextUpdateTime = (now: number, last: number): number => Math.max(now, last + 1)

export type Change<X extends ExtraColumns> = {
  uid: string
  updateTime: number
  /** Extra columns that are left out keep their values. */
  columns?: Partial<ExtraValues<X>> | undefined
}

/** Returns the row as it was written. */
export function* replaceResource<D extends DescMessage, X extends ExtraColumns>(
  access: WriteAccess,
  kind: Kind<D, X>,
  resource: MessageShape<D>,
  { uid, updateTime, columns }: Change<X>,
): Work<Entry> {
  const entry = entryOf(kind, resource, standardFieldsOf(uid, resource, updateTime), columns)
  yield* updateEntry(access, kind.table, entry)
  return entry
}
