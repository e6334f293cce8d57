import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { createDatabase } from './postgres.ts'

const cluster = process.env.STEMMA_TEST_POSTGRES ?? ''
const skip = cluster ? false : 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'

test('creates a database of a supported version that can sort by bytes, and drops it', { skip }, async () => {
  const database = await createDatabase(cluster)
  const client = new Client(database.url)
  await client.connect()
  try {
    const version = await client.query('show server_version')
    assert.ok(Number.parseInt(version.rows[0].server_version, 10) >= 15)

    const sorted = await client.query(
      `select name collate "C" as name from (values ('b'), ('a/'), ('a0'), ('B'), ('é'), ('a')) as t (name) order by 1`,
    )
    assert.deepEqual(
      sorted.rows.map((row) => row.name),
      ['B', 'a', 'a/', 'a0', 'b', 'é'],
    )
  } finally {
    await client.end()
    await database.drop()
  }
  await assert.rejects(new Client(database.url).connect(), { code: '3D000' })
})
