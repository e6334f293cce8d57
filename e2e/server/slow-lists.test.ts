// The error of a list that takes too long says how to ask for less. Tested on PostgreSQL, where a lock makes a list
// wait.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ScalarType } from '@bufbuild/protobuf'
import pg from 'pg'
import { deadlineExceeded } from '../../server/aip/errors.ts'
import { withNarrowingAdvice } from '../../server/limits/narrowing.ts'
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

describe('the advice for slow lists', () => {
  test('names only those flags, numbers and enums that make a list shorter', async () => {
    const platform = await startPlatform('sqlite')
    const named = new Set<string>()
    try {
      for (const { method } of platform.app.endpoints) {
        const { message } = withNarrowingAdvice(method, deadlineExceeded())
        const [, filters = ''] = /filter by (.*)$/.exec(message) ?? []
        const names = new Set(filters.split(/, | or /))
        for (const { name, scalar, enum: enumeration } of method.desc.input.fields)
          if (names.has(name) && (enumeration || (scalar && scalar !== ScalarType.STRING))) named.add(name)
      }
    } finally {
      await platform.stop()
    }
    assert.deepEqual([...named].sort(), [
      ...['disabled', 'event_review_states', 'event_statuses', 'event_types'],
      ...['exclude_dates', 'exclude_epochs', 'exclude_referrers', 'latest_event_type'],
      ...['operators', 'outcome', 'relationship_type', 'state', 'unexpired'],
    ])
  })
})
