// The error of a list that takes too long says how to ask for less. Tested on PostgreSQL, where a lock makes a list
// wait.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

onEachStore('a list that takes too long', (engine) => {
  test('is answered with code 4 and advice', { skip: engine === 'sqlite' }, async () => {
    const platform = await startPlatform(engine)
    const client = new pg.Client({ connectionString: platform.config.databaseUrl })
    await client.connect()
    try {
      await client.query('begin; lock table roles in access exclusive mode')
      const headers = { authorization: `Bearer ${platform.owner.token}`, 'grpc-timeout': '100m' }
      for (const path of ['/iam/v2beta1/roles', '/iam/v1/roles']) {
        const response = await fetch(platform.url + path, { headers })
        assert.equal(response.status, 504)
        const { code, message } = (await response.json()) as { code: number; message: string }
        assert.equal(code, 4)
        assert.match(message, /the call took too long; ask for less: .*filter by /)
      }
    } finally {
      await client.end()
      await platform.stop()
    }
  })
})
