// The time from start to ready, and the memory of the server.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeFlagsOf } from '../../server/bin/node-flags.mjs'
import { measure } from '../load/load.ts'
import { startProcess, untilReady, usageOf } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import { startBenchServer, temporarySettings } from '../stores/bench-server.ts'
import { requestOf } from './rest-ratio.ts'

const startCount = 5
const maxMilliseconds = 600
const maxIdleBytes = 120e6
const maxLoadedBytes = 150e6
/** After this time the garbage of the start is collected (server/commands/serve.ts), and V8 has freed the memory. */
const untilIdleMs = 20_000
const launcher = join(import.meta.dirname, '../../server/bin/stemmad.mjs')

export async function benchStart(): Promise<Line[]> {
  const onEmptyStore = await timeStarts(() => temporarySettings())
  await using cleanup = new AsyncDisposableStack()
  const temporary = await temporarySettings()
  cleanup.defer(temporary.remove)
  const existing = async () => ({ ...temporary, remove: async () => {} })
  const onExistingStore = await timeStarts(existing)
  const { bytes: idleBytes } = await measureStart(await existing(), untilIdleMs)
  return [
    timeLine('Start to ready, empty store', onEmptyStore.milliseconds),
    timeLine('Start to ready, existing store', onExistingStore.milliseconds),
    plainLine('Memory of all processes, when ready', `${(onExistingStore.bytes / 1e6).toFixed(0)} MB`),
    memoryLine('Memory of all processes, idle', idleBytes, maxIdleBytes),
    ...(await benchMemory()),
  ]
}

type Start = { milliseconds: number; bytes: number }

async function timeStarts(settingsFor: () => ReturnType<typeof temporarySettings>): Promise<Start> {
  const times: number[] = []
  const sizes: number[] = []
  for (let at = 0; at < startCount; at++) {
    const { milliseconds, bytes } = await measureStart(await settingsFor(), 0)
    times.push(milliseconds)
    sizes.push(bytes)
  }
  return { milliseconds: median(times), bytes: median(sizes) }
}

/** The memory is measured `waitMs` after the server is ready. */
async function measureStart(
  { settings, port, remove }: Awaited<ReturnType<typeof temporarySettings>>,
  waitMs: number,
): Promise<Start> {
  const started = performance.now()
  // Like `npm start`.
  const child = spawn(process.execPath, [...nodeFlagsOf('serve'), launcher, 'serve', ...settings], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  try {
    await untilReady(port)
    const milliseconds = performance.now() - started
    await sleep(waitMs)
    const bytes = residentBytes(child.pid as number) // defined, because the process has started
    return { milliseconds, bytes }
  } finally {
    child.kill('SIGINT')
    await exited
    await remove()
  }
}

/** The memory of a process and its children. */
function residentBytes(pid: number): number {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,rss='], { encoding: 'utf8' })
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
  const kilobytes = rows.map(([process, parent, rss = 0]) => (process === pid || parent === pid ? rss : 0))
  return kilobytes.reduce((sum, rss) => sum + rss, 0) * 1024
}

async function benchMemory(): Promise<Line[]> {
  const bench = await startBenchServer(1000)
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  try {
    const before = await usageOf(bench.server)
    for (const path of [`/iam/v2beta1/groups/${bench.group}`, '/iam/v2beta1/groups?order_by=name']) {
      await measure(load, bench.server, {
        request: requestOf(path, bench.authorization),
        inFlight: 64,
        seconds: 4,
      })
    }
    const after = await usageOf(bench.server)
    return [
      memoryLine('Memory with 1000 groups, when ready', before.memory, maxIdleBytes),
      memoryLine('Memory after a load of Get and List', after.memory, maxLoadedBytes),
    ]
  } finally {
    await load.stop()
    await bench.end()
  }
}

const timeLine = (label: string, milliseconds: number): Line => ({
  ...{ label, measured: `${milliseconds.toFixed(0)} ms`, baseline: '', ratio: '' },
  ...{ goal: `${maxMilliseconds} ms`, isMet: milliseconds < maxMilliseconds },
})

const memoryLine = (label: string, bytes: number, maxBytes: number): Line => ({
  ...{ label, measured: `${(bytes / 1e6).toFixed(0)} MB`, baseline: '', ratio: '' },
  ...{ goal: `${maxBytes / 1e6} MB`, isMet: bytes < maxBytes },
})
