// Rows that a migration has marked, by an empty shape, are rendered anew with all their columns.
import type { DescMessage } from '@bufbuild/protobuf'
import type { Store } from '../store/db.ts'
import { raw, sql } from '../store/sql.ts'
import { keptOf, selectForUpdate, updateEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Kind } from './kind.ts'
import { entryOf, factsOf, messageOf } from './kind.ts'

const rowsAtOnce = 500

export async function rerenderRows(store: Store, kind: Kind<DescMessage>): Promise<void> {
  const some = () =>
    store.query(sql`select uid from ${raw(kind.table.name)} where shape = '' limit ${rowsAtOnce}`)
  for (let rows = await some(); rows.length > 0; rows = await some()) {
    await store.write(function* () {
      for (const [uid] of rows) yield* render(kind, uid as string)
    })
  }
}

function* render(kind: Kind<DescMessage>, uid: string): Work<void> {
  const row = yield* first(selectForUpdate(kind.table, uid))
  if (!row) return
  const { proto, updateTime, columns } = keptOf(row)
  const resource = messageOf(kind, proto)
  const values = kind.columns(resource).map((value, at) => value ?? columns[at] ?? null)
  yield* updateEntry(kind.table, entryOf(kind, resource, factsOf(uid, resource, updateTime), values))
}
