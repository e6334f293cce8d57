// Reads all tables of a PostgreSQL database in one snapshot, with a cursor.
import type pg from 'pg'
import type { Portion } from '../dump.ts'
import { isDumped } from '../dump.ts'
import type { Row } from '../sql.ts'

/** Small, because some rows are large. */
const rowsPerFetch = 50

/** In the order of creation, so that no table refers to a later one. */
const tablesInOrder = `select c.relname from pg_class c where c.relkind = 'r'
  and c.relnamespace = current_schema()::regnamespace order by c.oid`

const columnsInOrder = `select column_name from information_schema.columns
  where table_schema = current_schema() and table_name = $1 order by ordinal_position`

export async function* dump(client: pg.PoolClient): AsyncGenerator<Portion> {
  const query = async (text: string, values: string[] = []) =>
    (await client.query<Row>({ text, values, rowMode: 'array' })).rows
  // No timeouts: the reader of the dump may be slow.
  await query(`begin isolation level repeatable read read only;
    set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0`)
  for (const [name] of await query(tablesInOrder)) {
    const table = String(name)
    if (!isDumped(table)) continue
    const columns = (await query(columnsInOrder, [table])).map(([column]) => String(column))
    await query(`declare portion cursor for select ${columns.join(', ')} from ${table} order by 1`)
    for (let rows: Row[] | undefined; rows === undefined || rows.length > 0; ) {
      rows = await query(`fetch ${rowsPerFetch} from portion`)
      yield { table, columns, rows }
    }
    await query('close portion')
  }
  await query('commit')
}
