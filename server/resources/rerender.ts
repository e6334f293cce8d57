// Renders again the rows that a migration has marked with an empty shape, and computes their columns.
import type { DescMessage } from '@bufbuild/protobuf'
import type { Store } from '../store/db.ts'
import { raw, sql } from '../store/sql.ts'
import { updateEntry } from '../store/table.ts'
import type { Work } from '../store/work.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Kind } from './kind.ts'
import { standardFieldsOf, storedEntryOf } from './kind.ts'
import { lockResource } from './stored-resource.ts'

const batchSize = 500

export async function rerenderRows(
  store: Store,
  access: WriteAccess,
  kind: Kind<DescMessage>,
): Promise<void> {
  const readBatch = () =>
    store.query(sql`select uid from ${raw(kind.table.name)} where shape = '' limit ${batchSize}`)
  for (let rows = await readBatch(); rows.length > 0; rows = await readBatch()) {
    await store.write(function* () {
      for (const [uid] of rows) yield* rerender(access, kind, uid as string)
    })
  }
}

function* rerender(access: WriteAccess, kind: Kind<DescMessage>, uid: string): Work<void> {
  const stored = yield* lockResource(kind, uid)
  if (!stored) return
  const { resource, updateTime } = stored
  const fields = standardFieldsOf(uid, resource, updateTime)
  yield* updateEntry(access, kind.table, storedEntryOf(kind, resource, fields))
}
