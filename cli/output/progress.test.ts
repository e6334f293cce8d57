import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Runtime } from '../runtime.ts'
import { runStemma } from '../stemma.ts'

/** The first page of a list succeeds and the next one fails. The second document of a stream is cut off. */
function answer(url: URL, response: ServerResponse): void {
  if (url.pathname.endsWith('/advisories:osv')) {
    response.writeHead(200, { 'content-type': 'application/jsonl' }).end('{"id":"one"}\n{')
  } else if (url.searchParams.has('pageToken')) {
    response.writeHead(403, { 'content-type': 'application/json' }).end('{"code":7,"message":"refused"}')
  } else {
    const page = { groups: [{ uid: '0'.repeat(40), name: 'acme' }], nextPageToken: 'next', totalCount: '2' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
  }
}

test('the progress line is cleared before an error is printed', async () => {
  const server = createServer((request, response) =>
    answer(new URL(request.url ?? '', 'http://localhost'), response),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const env = { HOME: tmpdir(), STEMMA_API: `http://127.0.0.1:${port}`, STEMMA_TOKEN: 'token' }
  try {
    for (const [line, progress] of [
      ['groups list --all', '1 of 2'],
      ['groups tree', '1 of 2'],
      ['advisories export-osv', '1 so far'],
    ] as const) {
      let time = 0
      const now = () => (time += 1000)
      const stderr = Object.assign(new PassThrough(), { isTTY: true })
      // The cast is safe: these commands read nothing, and need no other property of a terminal.
      const runtime = { env, now, stdin: new PassThrough(), stdout: new PassThrough(), stderr }
      const code = await runStemma(line.split(' '), runtime as unknown as Runtime)
      stderr.end()
      const printed = await text(stderr)
      assert.notEqual(code, 0, line)
      assert.ok(printed.startsWith(`\r\x1b[K${progress}\r\x1b[Kstemma: `), `${line}: ${printed}`)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
