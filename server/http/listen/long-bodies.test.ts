import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawClient } from '../../testing/raw-http.ts'
import { openTestDoor } from '../../testing/test-door.ts'
import { allowLongBody } from './long-bodies.ts'

test('a long body may exceed the request timeout, which applies again to later requests on its connection', async () => {
  const door = await openTestDoor({
    timeoutsMs: { headers: 50, request: 50, checkInterval: 20 },
    mounts: [
      {
        isFor: (path) => path.startsWith('/body/'),
        async handle(request, response, { path }) {
          if (path === '/body/long') allowLongBody(request)
          let size = 0
          for await (const chunk of request) size += (chunk as Buffer).length
          response.end(String(size))
        },
      },
    ],
  })
  const [long, short] = [await rawClient(door.port), await rawClient(door.port)]
  const headOf = (path: string) => `PUT ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 8\r\n\r\n`
  try {
    long.send(`${headOf('/body/long')}1234`)
    short.send(`${headOf('/body/short')}1234`)
    assert.equal((await short.response()).status, 408)
    long.send('5678')
    assert.equal((await long.response()).body, '8')
    long.send(`${headOf('/body/long')}12345678`)
    assert.equal((await long.response()).body, '8')
    long.send(`${headOf('/body/short')}1234`)
    assert.equal((await long.response()).status, 408)
  } finally {
    for (const client of [long, short]) client.close()
    door.close()
  }
})
