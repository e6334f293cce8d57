// Reads tables of a PostgreSQL database in one snapshot, with a cursor.
import type pg from 'pg'
import type { Portion } from '../dump.ts'
import type { Row } from '../sql.ts'
import { longReplyTimeoutMs, withReplyTimeout } from './pool.ts'

/** Small, because some rows are large. */
const rowsPerFetch = 50

const columnsInOrder = `select column_name from information_schema.columns
  where table_schema = current_schema() and table_name = $1 order by ordinal_position`

const primaryKey = `select a.attname from pg_index i, unnest(i.indkey) with ordinality k (number, position)
  join pg_attribute a on a.attnum = k.number
  where i.indrelid = $1::regclass and i.indisprimary and a.attrelid = i.indrelid order by k.position`

export async function* dump(client: pg.PoolClient, tables: readonly string[]): AsyncGenerator<Portion> {
  const query = async (text: string, values: string[] = []) => {
    const config = withReplyTimeout({ text, values, rowMode: 'array' as const }, longReplyTimeoutMs)
    return (await client.query<Row>(config)).rows
  }
  const names = async (text: string, table: string) =>
    (await query(text, [table])).map(([name]) => String(name))
  // No timeouts: the reader of the dump may be slow, or another transaction may have locked a table.
  await query(`begin isolation level repeatable read read only;
    set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0`)
  for (const table of tables) {
    const columns = await names(columnsInOrder, table)
    const key = await names(primaryKey, table)
    const select = `select ${columns.join(', ')} from ${table} order by ${key.join(', ')}`
    await query(`declare portion cursor for ${select}`)
    for (let rows: Row[] | undefined; rows === undefined || rows.length > 0; ) {
      rows = await query(`fetch ${rowsPerFetch} from portion`)
      yield { table, columns, rows }
    }
    await query('close portion')
  }
  await query('commit')
}
