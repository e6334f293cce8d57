// The cost of the event log: creates with 64 in flight on a server, against the same server without the module that
// records events (server/store/events/record.ts). Each has its own store, and the load alternates
// between them. On SQLite, responses per second of CPU time are compared: the server does everything
// itself. On PostgreSQL, responses per second of wall-clock time are compared, because the database
// and the connections to it do a part of the work. There, events are sealed 0.1 seconds after they
// are recorded, so the sealing of the last twentieth of a round is not measured.
import { join } from 'node:path'
import { startCluster } from '../../server/testing/postgres.ts'
import type { Sample } from '../load/load.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, ratioOf } from '../load/rounds.ts'
import { rates, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { postgresSettings } from '../stores/postgres-settings.ts'
import { createRequestOf } from './creates.ts'

const inFlight = 64
const rounds = 11
const seconds = 2
/** Creates may be 15 % slower than without the event log. */
const minRatio = 0.85

const withoutRecording = join(import.meta.dirname, '../load/without-recording.ts')

export async function benchRecording(): Promise<Line[]> {
  return [await compare('Creates, recorded against not recorded', 'perCpu'), await benchOnPostgres()]
}

async function benchOnPostgres(): Promise<Line> {
  const cluster = await startCluster({ fsync: true }).catch((error: Error) => error)
  if (cluster instanceof Error)
    return plainLine('PostgreSQL cannot be started here', cluster.message.slice(0, 60))
  const settings = () => postgresSettings(cluster.url)
  try {
    return await compare('Creates, PostgreSQL, recorded against not recorded', 'rate', settings)
  } finally {
    await cluster.stop()
  }
}

async function compare(
  label: string,
  compared: keyof Sample,
  settings: () => Promise<string[]> = async () => [],
): Promise<Line> {
  const start = async (sourceFlags: string[]) =>
    startBenchServer(200, await settings(), undefined, 'server-core', sourceFlags)
  await using recorded = await start([])
  await using unrecorded = await start(['--import', withoutRecording])
  await using load = startProcess('load-core', 'bench/load/http-load.ts')
  const create = (bench: BenchServer, duration: number) =>
    measure(load, bench.server, { request: createRequestOf(bench), inFlight, seconds: duration })
  for (const bench of [recorded, unrecorded]) await create(bench, warmSeconds)
  const samples = await alternate(
    rounds,
    () => create(recorded, seconds),
    () => create(unrecorded, seconds),
  )
  const valuesOf = (side: readonly Sample[]) => side.map((sample) => sample[compared])
  const ratio = ratioOf(valuesOf(samples.ours), valuesOf(samples.baseline))
  return {
    ...{ label, measured: rates(samples.ours), baseline: rates(samples.baseline) },
    ...{ ratio: ratio.toFixed(2), goal: minRatio.toFixed(2), isMet: ratio >= minRatio },
  }
}
