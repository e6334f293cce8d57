import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../clock.ts'
import { sql } from '../sql.ts'
import { connect } from './connection.ts'

test('a statement whose limit is a parameter is prepared once', () => {
  const connection = connect(':memory:', { isReadOnly: false, clock: systemClock })
  connection.db.exec("create table t (a text primary key); insert into t values ('x'), ('y'), ('z')")
  const read = (limit: number) =>
    connection.all(sql`select a from t where a > ${''} order by a limit ${limit}`)
  let checks = 0
  // SQLite calls the authorizer for each column of a statement, whenever it prepares the statement.
  connection.db.setAuthorizer(() => {
    checks++
    return 0
  })
  read(1)
  const once = checks
  assert.ok(once > 0)
  assert.deepEqual(
    [read(2), read(3)],
    [
      [['x'], ['y']],
      [['x'], ['y'], ['z']],
    ],
  )
  assert.equal(checks, once)
  connection.db.close()
})
