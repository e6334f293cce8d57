// The capacity of a server: how many Gets it answers in a second over 32 REST connections, each of
// which sends its next request when the response has arrived. The rate limits of this server are so
// high that one caller can use its whole capacity.
import { requestOf } from '../cases/rest-ratio.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import type { SoakOptions } from './options.ts'

/** Returns calls per second. */
export async function measureCapacity(
  { capacity, workers }: SoakOptions,
  serverFlags: string[],
): Promise<number> {
  const cores = workers === '1' ? 'server-core' : 'both-cores'
  await using bench = await startBenchServer(200, serverFlags, undefined, cores)
  await using load = startProcess('load-core', 'bench/load/http-load.ts')
  const request = requestOf(`/iam/v2beta1/groups/${bench.group}`, bench.authorization)
  const task = { request, inFlight: 32, seconds: capacity }
  await measure(load, bench.server, task)
  return (await measure(load, bench.server, task)).rate
}
