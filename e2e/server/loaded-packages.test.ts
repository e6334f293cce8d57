// A server loads at its start only what every server needs. The rest is loaded by the first request that needs
// it. The help of stemmad loads no command.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import manifest from '../../server/package.json' with { type: 'json' }
import type { RunningServer } from './stemmad.ts'
import { remove, runStemmad, serve, statusOf, temporaryFolder } from './stemmad.ts'

const main = join(import.meta.dirname, '../../server/main.ts')
const printLoaded = join(import.meta.dirname, 'print-loaded.ts')
const program = { node: process.execPath, launcher: main, flags: ['--import', printLoaded] }

describe('a server', { timeout: 120_000 }, () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => remove(folder))

  async function packagesLoadedBy(use: (server: RunningServer) => Promise<unknown>) {
    const server = await serve(folder, ['--drain-delay', '0'], program)
    try {
      await use(server)
    } finally {
      server.signal('SIGINT')
    }
    const { stderr } = await server.exited
    return JSON.parse(stderr) as string[]
  }

  test('loads only four of its dependencies at its start', async () => {
    const packages = await packagesLoadedBy(({ url }) => statusOf(`${url}/readyz`))
    // Node contains undici and loads it when fetch is first used, which must not be at the start.
    const dependencies = [...Object.keys(manifest.dependencies), 'undici']
    assert.deepEqual(
      packages.filter((name) => dependencies.includes(name)),
      ['@bufbuild/protobuf', 'jose', 'pino', 're2js'],
    )
  })

  test('loads grpc-js for an HTTP/2 connection, and prom-client for a request for metrics', async () => {
    const packages = await packagesLoadedBy(async ({ url }) => {
      const session = connect(url)
      await once(session, 'remoteSettings')
      session.close()
      assert.equal(await statusOf(`${url}/metrics`), 200)
    })
    assert.ok(packages.includes('@grpc/grpc-js'))
    assert.ok(!packages.includes('grpc-health-check'))
    assert.ok(packages.includes('prom-client'))
  })
})

describe('the help', { timeout: 120_000 }, () => {
  for (const args of [['--help'], ['check', '--help'], ['no-such-command']])
    test(`loads no package: stemmad ${args.join(' ')}`, async () => {
      const { stdout, stderr } = await runStemmad(tmpdir(), args, {}, undefined, program)
      assert.match(stdout + stderr, /STEMMA_DATA_DIR/)
      // Each command loads at least one package.
      assert.deepEqual(JSON.parse(stderr.split('\n').at(-1) ?? ''), [])
    })
})
