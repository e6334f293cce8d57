// The registry, compared with distribution v3 if this machine has it. Otherwise requests for small
// content are compared with a plain node:http server that sends the same bytes, and transfers of
// large blobs with one that only hashes and copies them; such lines have no goal.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BlobTransfer, BlobTransferResult } from '../load/blob-load.ts'
import type { Process, Server } from '../load/processes.ts'
import { startBareServer, startProcess, usageOf } from '../load/processes.ts'
import { alternate, median, ratioOf } from '../load/rounds.ts'
import { ratioLine, seconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { findDistribution, startDistribution } from '../stores/distribution.ts'
import { blobOf, manifestType, pushImage } from '../stores/registry-content.ts'
import { responseOf } from './rest-ratio.ts'

const smallBytes = 4096
const largeBytes = 100e6
const maxMemoryBytes = 250e6
const rounds = 7
/** Number of concurrent transfers when memory is measured. */
const manyTransfers = 8

/** A server with the repo that is measured. */
type Side = { server: Server; repo: string; authorization: string }

/** `minRatio` is the goal against distribution. */
type Case = { label: string; request: string; minRatio: number }

const cases: Case[] = [
  { label: 'Manifest by tag', request: 'GET /manifests/latest', minRatio: 5 },
  { label: 'HEAD of a manifest by tag', request: 'HEAD /manifests/latest', minRatio: 5 },
  { label: 'HEAD of a blob', request: `HEAD /blobs/${blobOf(smallBytes).digest}`, minRatio: 5 },
  { label: 'Blob of 4 KiB', request: `GET /blobs/${blobOf(smallBytes).digest}`, minRatio: 1.2 },
]

const transfers = [
  { label: 'Push of 100 MB', kind: 'push', minRatio: 0.8 },
  { label: 'Pull of 100 MB', kind: 'pull', minRatio: 0.7 },
] as const

export async function benchRegistry(): Promise<Line[]> {
  const bench = await startBenchServer(10)
  const { server, authorization } = bench
  const ours: Side = { server, authorization, repo: '/v2/bench/team/app' }
  const distribution = findDistribution()
  try {
    await pushTo(ours)
    const lines = distribution
      ? await compareWithDistribution(ours, distribution)
      : await compareWithPlainServers(ours)
    return [...lines, await memoryLine(ours)]
  } finally {
    await bench.end()
  }
}

const pushTo = ({ server, repo, authorization }: Side) =>
  pushImage({ url: `http://127.0.0.1:${server.port}${repo}`, authorization }, [smallBytes, largeBytes])

async function compareWithDistribution(
  ours: Side,
  { program, version }: { program: string; version: string },
): Promise<Line[]> {
  const server = await startDistribution(program)
  const theirs: Side = { ...ours, server }
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const baseline = `distribution ${version}`
  try {
    await pushTo(theirs)
    const lines: Line[] = []
    for (const { label, request, minRatio } of cases) {
      const task = { request: requestOf(ours, request), inFlight: 32, seconds }
      const comparison = { load, server: ours.server, bare: server, task }
      lines.push(await ratioLine(`${label}, against ${baseline}`, comparison, minRatio))
    }
    for (const { label, kind, minRatio } of transfers)
      lines.push(await transferLine(`${label}, against ${baseline}`, kind, ours, theirs, minRatio))
    return lines
  } finally {
    await Promise.all([load.stop(), server.stop()])
  }
}

async function compareWithPlainServers(ours: Side): Promise<Line[]> {
  const { server, authorization } = ours
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const folder = await mkdtemp(join(tmpdir(), 'stemma-bench-'))
  const raw = await startBareServer('bench/load/raw-copy.ts', { file: join(folder, 'blob') })
  try {
    const lines = [plainLine('distribution v3 is not available here: ratios to plain servers', '')]
    for (const { label, request } of cases) {
      const [method = '', path = ''] = request.split(' ')
      const response = await responseOf(server.port, `${ours.repo}${path}`, authorization, method)
      const bare = await startBareServer('bench/load/bare-http.ts', response)
      try {
        const task = { request: requestOf(ours, request), inFlight: 32, seconds }
        lines.push(await ratioLine(`${label}, against node:http`, { load, server, bare, task }))
      } finally {
        await bare.stop()
      }
    }
    for (const { label, kind } of transfers)
      lines.push(
        await transferLine(`${label}, against copying with SHA-256`, kind, ours, { ...ours, server: raw }),
      )
    return lines
  } finally {
    await Promise.all([load.stop(), raw.stop()])
    await rm(folder, { recursive: true, force: true })
  }
}

function requestOf({ repo, authorization }: Side, request: string): string {
  const [method, path] = request.split(' ')
  const headers = `host: localhost\r\naccept: ${manifestType}\r\nauthorization: ${authorization}`
  return `${method} ${repo}${path} HTTP/1.1\r\n${headers}\r\n\r\n`
}

/** Bytes per second of the server's CPU time, and per second of the clock. */
type Transfer = { perCpu: number; rate: number }

async function transfer(
  load: Process,
  { server, repo, authorization }: Side,
  kind: BlobTransfer['kind'],
  inFlight = 1,
): Promise<Transfer> {
  const { port } = server
  const before = await usageOf(server)
  const task: BlobTransfer = { kind, port, repo, authorization, inFlight, size: largeBytes }
  const { bytes, seconds } = await load.ask<BlobTransferResult>(task)
  const after = await usageOf(server)
  return { perCpu: bytes / (after.cpu - before.cpu), rate: bytes / seconds }
}

async function transferLine(
  label: string,
  kind: BlobTransfer['kind'],
  ours: Side,
  theirs: Side,
  minRatio?: number,
): Promise<Line> {
  const load = startProcess('load-core', 'bench/load/blob-load.ts')
  try {
    for (const side of [ours, theirs]) await transfer(load, side, kind)
    const samples = await alternate(
      rounds,
      () => transfer(load, ours, kind),
      () => transfer(load, theirs, kind),
    )
    const ratio = ratioOf(samples.ours.map(perCpu), samples.baseline.map(perCpu))
    return {
      ...{
        label,
        measured: ratesOf(samples.ours),
        baseline: ratesOf(samples.baseline),
        ratio: ratio.toFixed(2),
      },
      ...{ goal: minRatio?.toFixed(2) ?? '', isMet: minRatio === undefined ? undefined : ratio >= minRatio },
    }
  } finally {
    await load.stop()
  }
}

const perCpu = (sample: Transfer) => sample.perCpu

const ratesOf = (samples: readonly Transfer[]) =>
  `${megabytes(median(samples.map(perCpu)))} MB/cpu s, ${megabytes(median(samples.map(({ rate }) => rate)))} MB/s`

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0)

/** Measured last, after concurrent pushes and after concurrent pulls; the larger value. */
async function memoryLine(ours: Side): Promise<Line> {
  const load = startProcess('load-core', 'bench/load/blob-load.ts')
  const sizes: number[] = []
  try {
    for (const kind of ['push', 'pull'] as const) {
      await transfer(load, ours, kind, manyTransfers)
      sizes.push((await usageOf(ours.server)).memory)
    }
  } finally {
    await load.stop()
  }
  const bytes = Math.max(...sizes)
  return {
    label: `Memory after ${manyTransfers} concurrent pushes, then pulls, of 100 MB`,
    ...{ measured: `${megabytes(bytes)} MB`, baseline: '', ratio: '' },
    ...{ goal: `${megabytes(maxMemoryBytes)} MB`, isMet: bytes <= maxMemoryBytes },
  }
}
