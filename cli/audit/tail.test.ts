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

const entry = { uid: '1', time: '2026-01-01T00:00:00Z', action: 'created' }
const newer = { uid: '2', time: '2026-01-01T00:00:01Z', action: 'created' }
const listOf = (...auditEntries: object[]) => ({ status: 200, body: { auditEntries, entries: auditEntries } })
const unavailable = { status: 503, body: { code: 14, message: 'Unavailable: busy', details: [] } }
const denied = { status: 403, body: { code: 7, message: 'Permission denied: no', details: [] } }

test('audit tail without --since tries again if the server fails after it has answered', async () => {
  // The first response is for the newest entry. The client itself repeats a request three times.
  const failed = [unavailable, unavailable, unavailable, unavailable]
  const responses = [listOf(entry), ...failed, listOf(entry, newer), ...failed]
  let requestCount = 0
  const server = createServer((_, response) => {
    const { status, body } = responses[requestCount++] ?? denied
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const env = { HOME: tmpdir(), STEMMA_API: `http://127.0.0.1:${port}`, STEMMA_TOKEN: 'token' }
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  try {
    // The cast is safe: the command needs no terminal.
    const runtime = { env, now: Date.now, stdin, stdout, stderr } as unknown as Runtime
    const code = await runStemma(['audit', 'tail', '0'.repeat(40), '-o', 'uid'], runtime)
    stdout.end()
    stderr.end()
    assert.equal(await text(stdout), '2\n', 'the entry that existed before is not printed')
    assert.match(
      await text(stderr),
      /^(stemma: the server cannot answer; trying again in 1 s\n){2}stemma: .*no/,
    )
    assert.equal(code, 4)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
