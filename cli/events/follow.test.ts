import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connect } from '@stemma/api'
import { EventsService } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { follow } from './follow.ts'

test('a stream that ends or breaks is continued after its last response', async () => {
  const requests: (string | null)[] = []
  const server = createServer((request, response) => {
    requests.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('afterSequence'))
    const count = requests.length
    response.writeHead(200, { 'content-type': 'application/jsonl' })
    response.write(`{"sequence":"${count}"}\n`, () => (count === 1 ? response.destroy() : response.end()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = connect({ baseUrl: `http://127.0.0.1:${port}`, retry: { maxAttempts: 1 } })
  const pauses: number[] = []
  const responses = follow(connection, {
    method: EventsService.method.tailEvents,
    request: { group: '0'.repeat(40), follow: true },
    resume: (request, { sequence = '' }) => ({ ...request, afterSequence: sequence }),
    async pause(delayMs) {
      pauses.push(delayMs)
    },
  })
  const seen: unknown[] = []
  for await (const { sequence } of responses) {
    seen.push(sequence)
    if (seen.length === 3) break
  }
  server.close()
  server.closeAllConnections()
  assert.deepEqual(
    [seen, requests, pauses],
    [
      ['1', '2', '3'],
      [null, '1', '2'],
      [1000, 1000],
    ],
  )
})

test('streams that end at once are followed by longer and longer waits', async () => {
  const enough = new Error('enough')
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/jsonl' }).end(),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pauses: number[] = []
  const responses = follow(connect({ baseUrl: `http://127.0.0.1:${port}` }), {
    method: EventsService.method.tailEvents,
    request: { group: '0'.repeat(40), follow: true },
    resume: (request) => request,
    async pause(delayMs) {
      if (pauses.push(delayMs) === 3) throw enough
    },
  })
  await assert.rejects(responses.next(), enough)
  server.close()
  server.closeAllConnections()
  assert.deepEqual(pauses, [1000, 2000, 4000])
})

test('an error before the first response is reported', async () => {
  const connection = connect({ baseUrl: 'http://127.0.0.1:1', retry: { maxAttempts: 1 } })
  const responses = follow(connection, {
    method: EventsService.method.tailEvents,
    request: { group: '0'.repeat(40) },
    resume: (request) => request,
    pause: () => assert.fail('must not wait'),
  })
  await assert.rejects(responses.next(), /Unavailable/)
})
