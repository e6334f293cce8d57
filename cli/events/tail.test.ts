import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Runtime } from '../runtime.ts'
import { runStemma } from '../stemma.ts'

/** Runs `events tail --once`. `streams` are the bodies of the responses to its calls. */
async function tailOnce(streams: string[]) {
  const requests: (string | null)[] = []
  const server = createServer((request, response) => {
    const body = streams[requests.length]
    requests.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('afterSequence'))
    response.writeHead(200, { 'content-type': 'application/jsonl' }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const env = { HOME: tmpdir(), STEMMA_API: `http://127.0.0.1:${port}`, STEMMA_TOKEN: 'token' }
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const args = ['events', 'tail', '0'.repeat(40), '--after', '0', '--once', '-o', 'uid']
  try {
    // The cast is safe: the command needs no terminal.
    const runtime = { env, now: Date.now, stdin, stdout, stderr } as unknown as Runtime
    const code = await runStemma(args, runtime)
    stdout.end()
    stderr.end()
    return { code, requests, stdout: await text(stdout), stderr: await text(stderr) }
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const event = (sequence: number) => `{"event":{"subject":"s${sequence}"},"sequence":"${sequence}"}\n`

test('events tail --once continues a stream that ended before the last event', async () => {
  const ended = await tailOnce([event(1) + event(4), `${event(7)}{"sequence":"9"}\n`])
  assert.deepEqual(ended, { code: 0, requests: ['0', '4'], stdout: 's1\ns4\ns7\n', stderr: '' })
})

test('events tail --once fails if a stream is empty', async () => {
  const { code, requests, stdout, stderr } = await tailOnce([event(1), ''])
  assert.deepEqual([code, requests, stdout], [7, ['0', '1'], 's1\n'])
  assert.match(stderr, /^stemma: the stream has ended before the last event; try again\n$/)
})
