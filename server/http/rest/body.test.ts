import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Code } from '../../aip/code.ts'
import { rawClient } from '../../testing/raw-http.ts'
import { readText } from './body.ts'

for (const [what, body] of [
  ['a part of the body', '{"name'],
  ['the whole body', '{"name":1}'],
] as const) {
  test(`a body is not waited for if the client has sent ${what} and has disconnected before it is read`, async (t) => {
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const client = await rawClient((server.address() as AddressInfo).port)
    client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n${body}`)
    const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
    request.on('error', () => {})
    client.close()
    await new Promise((resolve) => request.once('close', resolve))
    const reading = readText(request, response).catch(({ code }) => code)
    assert.equal(await Promise.race([reading, nextTurn('still waiting')]), Code.CANCELLED)
  })
}
