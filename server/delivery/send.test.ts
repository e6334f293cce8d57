import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { openGuardedSend } from '../auth/outbound/outbound.ts'
import { openSend } from './send.ts'

const neverStopped = new AbortController().signal

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
    const { status, error } = await send(`http://127.0.0.1:${port}/`, { method: 'POST' }, neverStopped)
    assert.deepEqual([status, error], [0, 'no answer within 0.02 seconds'])
  })

  test('resolves the host name once, and connects to the address that was checked', async (context) => {
    const server = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    context.after(() => {
      server.close()
      server.closeAllConnections()
    })
    const resolved: string[] = []
    const checked: string[] = []
    const inner = openGuardedSend({
      // Only the first answer is the address of the server. A look-up by the system would find
      // nothing, because names that end with `.test` are reserved (RFC 6761).
      async resolve(hostname) {
        resolved.push(hostname)
        return [{ address: resolved.length === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
      },
      isRefused(_, address) {
        checked.push(address)
        return false
      },
    })
    // Every host is trusted, because the server of the test has no public address and no certificate.
    const guardedSend: typeof inner = (url, _, request, signal) => inner(url, true, request, signal)
    const send = openSend({ guardedSend, isLoopbackAllowed: true, clock: () => 0 })
    const { port } = server.address() as AddressInfo // it listens on TCP
    const { status, error } = await send(`http://changing.test:${port}/`, { method: 'POST' }, neverStopped)
    assert.deepEqual([status, error], [204, ''])
    assert.deepEqual([resolved, checked], [['changing.test'], ['127.0.0.1']])
  })

  test('is not sent if the host name has no public address; each request resolves the name anew', async () => {
    // 203.0.113.0/24 is reserved for documentation (RFC 5737), so it is not public.
    const answers = ['10.0.0.1', '203.0.113.1', '127.0.0.1']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++] ?? '', family: 4 }]
    const guardedSend = openGuardedSend({ resolve })
    const send = openSend({ guardedSend, isLoopbackAllowed: true, clock: () => 0 })
    for (const _ of answers) {
      const { error } = await send('https://changing.test/', { method: 'POST' }, neverStopped)
      assert.equal(error, 'the host has no public address, or only addresses of this server')
    }
    assert.equal(asked, answers.length, 'the name is resolved once for each request')
  })
})
