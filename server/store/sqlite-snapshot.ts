// Everything in an embedded store as it is at one moment, read by a connection of its own.
import type { Portion } from './snapshot.ts'
import { isFull } from './snapshot.ts'
import type { Row } from './sql.ts'
import { connect } from './sqlite-connection.ts'

export async function* readSnapshot(file: string): AsyncGenerator<Portion> {
  const { db, prepare } = connect(file, true)
  const names = (text: string) => (prepare(text).all() as unknown as string[][]).map(([name = '']) => name)
  try {
    db.exec('begin')
    const tables = names(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by rowid`,
    )
    for (const table of tables) {
      const columns = names(`select name from pragma_table_info('${table}') order by cid`)
      let rows: Row[] = []
      for (const row of prepare(`select ${columns.join(', ')} from ${table} order by 1`).iterate()) {
        rows.push(row as unknown as Row) // rows are arrays: setReturnArrays
        if (!isFull(rows)) continue
        yield { table, columns, rows }
        rows = []
      }
      yield { table, columns, rows }
    }
  } finally {
    db.close()
  }
}
