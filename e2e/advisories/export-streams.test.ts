// Exports of many advisories to clients that are slow, disconnect, lose their access, or are still reading when the
// server stops.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { startApp } from '../../server/app.ts'
import { signOutEverywhere } from '../../server/auth/sign-outs.ts'
import { convertRecords } from '../../server/commands/import/convert-records.ts'
import { importAdvisories } from '../../server/commands/import/import-advisories.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import { pause, remove, serve, temporaryFolder, until } from '../server/stemmad.ts'

const { exportAdvisoriesOsv } = AdvisoriesService.method
const { grpcPath, name: methodName } = describeMethod(exportAdvisoriesOsv)
const path = '/vulnerabilities/v2beta1/advisories:osv'

/** More than fit into the buffers between the server and a client that does not read: at most 300. */
const advisoryCount = 500
const details = 'Crafted input discloses memory. '.repeat(750)

const lines = Array.from({ length: advisoryCount }, (_, number) =>
  JSON.stringify({
    ...{ schema_version: '1.7.3', id: `GHSA-${number}`, modified: '2026-02-03T04:05:06Z', details },
    affected: [{ package: { ecosystem: 'npm', name: `left-pad-${number}` } }],
  }),
)

async function writeDump(folder: string): Promise<string> {
  const file = join(folder, 'dump.jsonl')
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

/** The number of documents that arrived, and how the stream ended. `status` is the gRPC status. */
type ExportEnd = { documents: number; isComplete: boolean; status?: string }

type Export = { body: Readable; ended(): Promise<ExportEnd>; disconnect(): void }

async function overRest(port: number, token: string): Promise<Export> {
  const sent = request({ port, path, headers: { authorization: `Bearer ${token}` } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200)
  answer.pause()
  sent.on('error', () => {})
  let documents = 0
  answer.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) documents++
  })
  const ended = new Promise<ExportEnd>((resolve) => {
    answer.on('end', () => resolve({ documents, isComplete: true }))
    answer.on('error', () => resolve({ documents, isComplete: false }))
  })
  return { body: answer, ended: () => ended, disconnect: () => void answer.destroy() }
}

async function overGrpc(port: number, token: string): Promise<Export> {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  const stream: ClientHttp2Stream = session.request({
    ...{ ':method': 'POST', ':path': grpcPath, 'content-type': 'application/grpc', te: 'trailers' },
    authorization: `Bearer ${token}`,
  })
  stream.on('error', () => {})
  stream.end(Buffer.alloc(5))
  let status: string | undefined
  stream.on('trailers', (trailers) => {
    status = String(trailers['grpc-status'])
  })
  await once(stream, 'response')
  let documents = 0
  let unparsed = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    unparsed = Buffer.concat([unparsed, chunk])
    while (unparsed.length >= 5 && unparsed.length >= 5 + unparsed.readUInt32BE(1)) {
      unparsed = unparsed.subarray(5 + unparsed.readUInt32BE(1))
      documents++
    }
  })
  stream.pause()
  const ended = once(stream, 'close').then((): ExportEnd => {
    session.destroy()
    return { documents, isComplete: status === '0', ...(status !== undefined && { status }) }
  })
  return { body: stream, ended: () => ended, disconnect: () => session.destroy() }
}

const clients = { rest: overRest, grpc: overGrpc }

/** Reads the export with a pause of 20 ms after each chunk. */
function readSlowly({ body }: Export): void {
  body.on('data', () => {
    body.pause()
    setTimeout(() => body.resume(), 20)
  })
  body.resume()
}

function captureCodes() {
  const { log, written } = captureLog('info')
  /** The codes of the exports of a caller that have ended. */
  const codes = (door: string, caller: string) =>
    written
      .flatMap((text) => text.trim().split('\n'))
      .map((line) => JSON.parse(line))
      .filter((line) => line.method === methodName && line.door === door && line.caller === caller)
      .map(({ code }) => code as string)
  return { log, codes }
}

onEachStore('an export of many advisories', (engine) => {
  let platform: Platform
  let folder: string
  let owner: TestIdentity
  const { log, codes } = captureCodes()

  before(async () => {
    folder = await temporaryFolder()
    platform = await startPlatform(engine, [], {}, log)
    owner = platform.owner
    await importAdvisories(
      { store: platform.store, now: Date.now, convert: convertRecords },
      owner.organization,
      await writeDump(folder),
      (line) => assert.fail(line),
    )
  })
  after(async () => {
    await platform.stop()
    await remove(folder)
  })

  for (const [door, start] of Object.entries(clients)) {
    const open = (token: string) => start(platform.app.port, token)
    /** The code of the only export of a caller. */
    const codeOf = async ({ identity }: TestIdentity) => {
      await until(() => codes(door, identity).length > 0)
      return codes(door, identity)[0]
    }

    test(`arrives completely over ${door}, even if the client pauses`, async () => {
      const export_ = await open(owner.token)
      await pause(200)
      export_.body.resume()
      assert.deepEqual((await export_.ended()).documents, advisoryCount)
      assert.ok((await export_.ended()).isComplete)
    })

    test(`over ${door} reads rows only as fast as the client does, and ends when the caller loses access`, async () => {
      const viewer = await platform.addIdentity(owner.organization, 'viewer')
      const export_ = await open(viewer.token)
      await platform.unbind(viewer.identity)
      export_.body.resume()
      const { documents, isComplete } = await export_.ended()
      // Documents that the server read before the caller lost access still arrive. Over gRPC these are at most one page
      // of 100, because the flow-control window is smaller than a page. The buffers of REST are larger.
      const maxDocuments = door === 'grpc' ? 100 : advisoryCount - 1
      assert.ok(documents > 0 && documents <= maxDocuments, `${documents} documents arrived`)
      assert.ok(isComplete, 'the stream ends without an error, because the caller may see nothing more')
      assert.equal(await codeOf(viewer), 'OK')
    })

    async function assertAborted(group: string, endAccess: (identity: string) => Promise<void>) {
      const viewer = await platform.addIdentity(group, 'viewer', owner.organization)
      const export_ = await open(viewer.token)
      await endAccess(viewer.identity)
      export_.body.resume()
      const { documents, isComplete, status } = await export_.ended()
      assert.ok(documents < advisoryCount && !isComplete)
      if (door === 'grpc') assert.equal(status, '16')
      assert.equal(await codeOf(viewer), 'UNAUTHENTICATED')
    }

    test(`is aborted over ${door} when the person is signed out everywhere`, async () => {
      const signOut = (identity: string) =>
        platform.store.write(() => signOutEverywhere(identity, Date.now()))
      await assertAborted('', signOut)
    })

    test(`is aborted over ${door} when the caller is deleted`, async () => {
      await assertAborted(owner.organization, platform.deleteIdentity)
    })

    test(`is refused over ${door} to a caller with too many streams`, async () => {
      const viewer = await platform.addIdentity(owner.organization, 'viewer')
      const openExports = await Promise.all(Array.from({ length: 10 }, () => open(viewer.token)))
      const openDoor = { rest: restDoor, grpc: grpcDoor }[door] ?? restDoor
      const client = openDoor(platform.url)
      const filter = { artifactNames: ['left-pad-1'] }
      const callExport = () => client.call(exportAdvisoriesOsv, filter, viewer.token)
      assert.equal((await callExport()).error?.code, 8)
      openExports.pop()?.disconnect()
      await until(() => codes(door, viewer.identity).length >= 2)
      assert.ok((await callExport()).body)
      for (const export_ of openExports) export_.disconnect()
      client.close()
    })

    test(`stops over ${door} when the client disconnects`, async () => {
      const viewer = await platform.addIdentity(owner.organization, 'viewer')
      const export_ = await open(viewer.token)
      export_.disconnect()
      assert.equal(await codeOf(viewer), 'CANCELLED')
    })

    test(`over ${door} is aborted at the drain timeout of a server that stops, and does not look complete`, async () => {
      const stopped = captureCodes()
      const app = await startApp(platform.config, stopped.log, { drainTimeoutMs: 300 })
      const export_ = await start(app.port, owner.token)
      readSlowly(export_)
      await app.stop(true)
      const { documents, isComplete, status } = await export_.ended()
      assert.ok(documents < advisoryCount && !isComplete, `${documents} documents arrived`)
      if (door === 'grpc') assert.equal(status, '14')
      assert.deepEqual(stopped.codes(door, owner.identity), ['UNAVAILABLE'])
    })
  }

  // The store does not matter here, and the child process takes a second of CPU time to start.
  if (engine === 'sqlite')
    test('is completed by a server that is stopped during it', async () => {
      const server = await serve(folder, ['--drain-delay', '0', '--data-dir', platform.config.dataDir])
      const exports_ = await Promise.all(
        Object.values(clients).map((start) => start(server.port, owner.token)),
      )
      server.signal('SIGTERM')
      await until(() => server.log().some(({ msg }) => msg === 'stopping'))
      for (const { body } of exports_) body.resume()
      for (const { ended } of exports_) {
        const { documents, isComplete } = await ended()
        assert.equal(documents, advisoryCount)
        assert.ok(isComplete)
      }
      assert.equal((await server.exited).code, 0)
    })
})
