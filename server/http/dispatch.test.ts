import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { RawClient } from '../testing/raw-http.ts'
import { rawClient } from '../testing/raw-http.ts'
import type { TestDoor } from '../testing/test-door.ts'
import { openTestDoor } from '../testing/test-door.ts'

describe('a mount that fails', { timeout: 60_000 }, () => {
  let door: TestDoor
  let client: RawClient
  const [arrived, abandoned] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const failure = new Error('a module is missing')

  before(async () => {
    door = await openTestDoor({
      mounts: [
        {
          isFor: (path) => path.startsWith('/mount/'),
          async handle(_, response, { path }) {
            if (path === '/mount/late') response.writeHead(200, { 'content-length': 8 }).write('half')
            if (path === '/mount/abandoned') {
              arrived.resolve()
              await once(response, 'close')
              abandoned.resolve()
            }
            throw failure
          },
        },
      ],
    })
  })
  beforeEach(async () => {
    door.rejected.length = 0
    client = await rawClient(door.port)
  })
  after(() => door.close())

  const send = (path: string, headers = '') =>
    client.send(`GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`)

  test('is answered with an internal error and reported', async () => {
    send('/mount/early', 'x-request-id: the-request\r\n')
    const response = await client.response()
    assert.equal(response.status, 500)
    assert.equal(JSON.parse(response.body).code, 13)
    assert.equal(response.headers.get('x-request-id'), 'the-request')
    assert.doesNotMatch(response.body, /module/)
    assert.deepEqual(
      door.rejected.map(({ requestId, error }) => [requestId, error.cause]),
      [['the-request', failure]],
    )
  })

  test('is reported and loses its connection if the response has begun', async () => {
    send('/mount/late')
    assert.match(String(await client.remainingBytes()), /\r\n\r\nhalf$/)
    assert.deepEqual(
      door.rejected.map(({ error }) => error.cause),
      [failure],
    )
  })

  test('is not reported if the client has reset the connection', async () => {
    send('/mount/abandoned')
    await arrived.promise
    client.socket.resetAndDestroy()
    await abandoned.promise
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(door.rejected, [])
  })
})
