import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Code } from '../../aip/code.ts'
import type { JsonParts } from '../../wire/reply.ts'
import type { ResponseContext } from './exchange.ts'
import { sendParts } from './parts.ts'

test('no further part is made for a client that has disconnected', async () => {
  const context = { securityHeaders: [], isDraining: () => false } as unknown as ResponseContext
  const waiting = Promise.withResolvers<void>()
  const disconnected = Promise.withResolvers<void>()
  let made = 0
  let error: Error | undefined
  const parts: JsonParts = {
    wait() {
      waiting.resolve()
      return disconnected.promise
    },
    next: async () => `part ${made++}`,
    end(reason) {
      error = reason
    },
  }
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const arrived = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>
    const sent = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end()
    sent.on('error', () => {})
    const [received, response] = await arrived
    const closed = once(response, 'close')
    const exchange = { request: received, response, requestId: 'id', match: undefined }
    const sending = sendParts(context, exchange, parts, [])
    await waiting.promise
    sent.destroy()
    await closed
    disconnected.resolve()
    await sending
    assert.equal(made, 1)
    assert.equal((error as { code?: Code } | undefined)?.code, Code.CANCELLED)
  } finally {
    server.close()
  }
})
