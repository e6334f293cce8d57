// Get, List and Create on PostgreSQL, without a baseline. The CPU time is that of stemmad, without PostgreSQL.
import { startCluster } from '../../server/testing/postgres.ts'
import type { Sample } from '../load/load.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import { rates, short, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { postgresSettings } from '../stores/postgres-settings.ts'
import { measureCreateRates } from './creates.ts'
import { requestOf } from './rest-ratio.ts'

const rounds = 3
const seconds = 1.2

export async function benchPostgres(): Promise<Line[]> {
  const cluster = await startCluster({ fsync: true }).catch((error: Error) => error)
  if (cluster instanceof Error)
    return [plainLine('PostgreSQL cannot be started here', cluster.message.slice(0, 60))]
  try {
    const bench = await startBenchServer(1000, await postgresSettings(cluster.url))
    try {
      return [...(await reads(bench)), ...(await creates(bench))]
    } finally {
      await bench.end()
    }
  } finally {
    await cluster.stop()
  }
}

async function reads(bench: BenchServer): Promise<Line[]> {
  return [
    await read('Get group, PostgreSQL', bench, `/iam/v2beta1/groups/${bench.group}`),
    await read('List of 50 by uid, PostgreSQL', bench, '/iam/v2beta1/groups'),
    await read('List of 50 by name, PostgreSQL', bench, '/iam/v2beta1/groups?order_by=name'),
  ]
}

async function read(label: string, { server, authorization }: BenchServer, path: string): Promise<Line> {
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  try {
    const task = { request: requestOf(path, authorization), inFlight: 32, seconds }
    await measure(load, server, { ...task, seconds: warmSeconds })
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round++) samples.push(await measure(load, server, task))
    return plainLine(label, rates(samples))
  } finally {
    await load.stop()
  }
}

async function creates(bench: BenchServer): Promise<Line[]> {
  const { together, alone } = await measureCreateRates(bench)
  return [
    plainLine('Creates, 64 in flight, PostgreSQL', `${short(median(together))}/s`),
    plainLine('Creates, 1 in flight, PostgreSQL', `${short(median(alone))}/s`),
  ]
}
