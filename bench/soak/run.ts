// The phases of a run: rehearsal, capacity, warm-up, idle (only the well-behaved clients), attack. All processes are ended
// however the run ends.
import { setTimeout as sleep } from 'node:timers/promises'
import { startIssuer } from '../../e2e/sign-in/foreign-issuer.ts'
import { startCluster } from '../../server/testing/postgres.ts'
import type { Process } from '../load/processes.ts'
import { startInBackground, startProcess, takeLoopDelay } from '../load/processes.ts'
import { postgresSettings } from '../stores/postgres-settings.ts'
import type { AttackCommand, AttackCounts } from './attacks/attacker-process.ts'
import { measureCapacity } from './capacity.ts'
import type { ClientCommand, ClientProgress, ClientResult } from './clients/client-process.ts'
import { memoryOf } from './memory.ts'
import type { SoakOptions } from './options.ts'
import type { Measured } from './report.ts'
import { goals, megabytes, milliseconds } from './report.ts'
import type { SoakServer } from './soak-server.ts'
import { startSoakServer } from './soak-server.ts'

/** The attackers send this much more than the goal, because they lose some requests while they are delayed. */
const margin = 1.05
/** How often the state is printed. */
const progressSeconds = 30

/**
 * Fills the compile cache before the measurement, because compiling TypeScript takes 30 MB in the
 * server, which the published package does not need. The attacks run almost all code of the server.
 */
const rehearsal = { seconds: 8, requestsPerSecond: 2000 }

export async function runSoak(options: SoakOptions, signal: AbortSignal): Promise<Measured> {
  await using cleanup = new AsyncDisposableStack()
  const cluster = options.isOnPostgres ? await startCluster({ fsync: true }) : undefined
  if (cluster) cleanup.defer(() => cluster.stop())
  /** Each server has a store of its own. */
  const newFlags = async () => [
    ...options.serverFlags,
    ...(cluster ? await postgresSettings(cluster.url) : []),
  ]
  await rehearse(options, await newFlags(), signal)
  const capacity = await measureCapacity(options, await newFlags())
  signal.throwIfAborted()
  console.log(`capacity: ${capacity.toFixed(0)} Gets per second`)
  await using processes = await startProcesses(await newFlags())
  const { soak, clients, attackers } = processes
  const phase = (name: string, seconds: number) => runPhase(name, seconds, { soak, clients, signal })
  await phase('warm-up', options.warmUp)
  await takeLoopDelay(soak.server) // starts the measurement
  const idle = await phase('idle', options.idle)
  const idleLoopDelay = await takeLoopDelay(soak.server)
  const { current: idleMemory } = await memoryOf(soak.server.pid)
  const started = performance.now()
  const perSecond = capacity * goals.offeredRatio * margin
  await attack(processes, options, perSecond)
  const attacked = await phase('attack', options.attack)
  const loopDelay = { idle: idleLoopDelay, attacked: await takeLoopDelay(soak.server) }
  const attacks = await attackers.ask<AttackCounts>('counts' satisfies AttackCommand)
  const attackSeconds = (performance.now() - started) / 1000
  const memory = await memoryOf(soak.server.pid)
  return { capacity, idle, attacked, attacks, attackSeconds, idleMemory, memory, loopDelay }
}

/** Runs everything once, so that the compile cache has the code of the server and of its threads. */
async function rehearse(options: SoakOptions, serverFlags: string[], signal: AbortSignal): Promise<void> {
  await using processes = await startProcesses(serverFlags)
  const { soak, clients } = processes
  await attack(processes, options, rehearsal.requestsPerSecond)
  await runPhase('rehearsal', rehearsal.seconds, { soak, clients, signal })
}

type Processes = AsyncDisposable & { soak: SoakServer; clients: Process; attackers: Process }

async function startProcesses(serverFlags: string[]): Promise<Processes> {
  await using cleanup = new AsyncDisposableStack()
  const issuer = await startIssuer('ES256')
  cleanup.defer(() => issuer.close())
  const soak = await startSoakServer(issuer, serverFlags)
  cleanup.defer(() => soak.end())
  const clients = startProcess('load-core', 'bench/soak/clients/client-process.ts')
  cleanup.defer(() => clients.stop())
  // In reality attackers have machines of their own, so here they leave the processor to the clients and the server.
  const attackers = startInBackground('load-core', 'bench/soak/attacks/attacker-process.ts')
  cleanup.defer(() => attackers.stop())
  const opened = cleanup.move()
  return { soak, clients, attackers, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const attack = ({ soak, attackers }: Processes, { attacks }: SoakOptions, perSecond: number) =>
  attackers.ask({
    start: { port: soak.server.port, tenant: soak.attackers, names: attacks, perSecond },
  } satisfies AttackCommand)

type Phase = { soak: SoakServer; clients: Process; signal: AbortSignal }

/** Runs the well-behaved clients, prints their state, and returns their result. */
async function runPhase(
  name: string,
  seconds: number,
  { soak, clients, signal }: Phase,
): Promise<ClientResult> {
  const { server, callers } = soak
  await clients.ask({ start: { port: server.port, callers } } satisfies ClientCommand)
  for (let left = seconds; left > 0; left -= progressSeconds) {
    await sleep(Math.min(left, progressSeconds) * 1000, undefined, { signal })
    const { calls, errors, p99 } = await clients.ask<ClientProgress>('progress' satisfies ClientCommand)
    const { current, peak } = await memoryOf(server.pid)
    const passed = Math.min(seconds, seconds - left + progressSeconds).toFixed(0)
    const memory = `memory ${megabytes(current)}, peak ${megabytes(peak)}`
    console.log(`${name}, ${passed} s: ${calls} calls, ${errors} errors, p99 ${milliseconds(p99)}, ${memory}`)
  }
  return clients.ask<ClientResult>('finish' satisfies ClientCommand)
}
