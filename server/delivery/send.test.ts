import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { openGuardedSend } from '../auth/outbound/outbound.ts'
import { openSend } from './send.ts'

const running = new AbortController().signal

describe('a request to a sink', () => {
  test('ends after its timeout if there is no answer', async (context) => {
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await once(server, 'listening')
    context.after(() => {
      server.close()
      server.closeAllConnections()
    })
    const guardedSend = openGuardedSend()
    const send = openSend({ guardedSend, isLoopbackAllowed: true, clock: () => 0, timeoutMs: 20 })
    const { port } = server.address() as AddressInfo // it listens on TCP
    const { status, error } = await send(`http://127.0.0.1:${port}/`, { method: 'POST' }, running)
    assert.deepEqual([status, error], [0, 'no answer within 0.02 seconds'])
  })

  test('resolves the host name once, so that it connects only to an address that was checked', async () => {
    const answers = ['10.0.0.1', '203.0.113.1', '127.0.0.1']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++] ?? '', family: 4 }]
    const guardedSend = openGuardedSend({ resolve })
    const send = openSend({ guardedSend, isLoopbackAllowed: true, clock: () => 0 })
    for (const _ of answers) {
      const { error } = await send('https://changing.test/', { method: 'POST' }, running)
      assert.equal(error, 'the host has no public address, or only addresses of this server')
    }
    assert.equal(asked, answers.length, 'the name is resolved once for each request')
  })
})
