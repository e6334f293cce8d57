// Reads tables of an SQLite file in one snapshot, with a connection of its own.
import type { Clock } from '../clock.ts'
import type { Portion } from '../dump.ts'
import { openRowCollector } from '../dump.ts'
import type { Row } from '../sql.ts'
import { connect } from './connection.ts'

export async function* dump(file: string, tables: readonly string[], clock: Clock): AsyncGenerator<Portion> {
  const { db, prepare } = connect(file, { isReadOnly: true, clock })
  const names = (text: string) => (prepare(text).all() as unknown as string[][]).map(([name = '']) => name)
  try {
    db.exec('begin')
    for (const table of tables) {
      const columns = names(`select name from pragma_table_info('${table}') order by cid`)
      const key = names(`select name from pragma_table_info('${table}') where pk > 0 order by pk`)
      const select = `select ${columns.join(', ')} from ${table} order by ${key.join(', ')}`
      const collector = openRowCollector()
      for (const row of prepare(select).iterate()) {
        collector.add(row as unknown as Row) // rows are arrays: setReturnArrays
        if (collector.isFull()) yield { table, columns, rows: collector.drain() }
      }
      yield { table, columns, rows: collector.drain() }
    }
  } finally {
    db.close()
  }
}
