// Questions about access: CheckAccess over gRPC against a plain grpc-js server that sends the same bytes, a batch of 1000
// questions over gRPC, and the decision alone, after the grants were read (`bench access` also measures the reading). The
// identity has 50 bindings in a tree of depth 8. A page of ListReach is measured as well.
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { capabilityNamed } from '../../server/policy/capabilities.ts'
import { accessEnd, noAccess } from '../../server/policy/decide.ts'
import { readGrants } from '../../server/policy/read-grants.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import { seconds, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer, temporarySettings } from '../stores/bench-server.ts'
import type { BindingsTree } from '../stores/bindings-tree.ts'
import { bindingCount, createTree, depth } from '../stores/bindings-tree.ts'
import { compareWithBareGrpc, grpcTask } from './grpc-ratio.ts'
import { manyBindings, reachLine } from './reach.ts'

const minRatio = 0.7
const batchSize = 1000
const maxBatchMicroseconds = 3
const maxDecisionMicroseconds = 2
const decisionsPerRound = 20_000
const rounds = 21
const capability = 'groups.list'

const { checkAccess, batchCheckAccess } = AccessService.method

export async function benchCheck(): Promise<Line[]> {
  let tree: BindingsTree | undefined
  let largeTree: BindingsTree | undefined
  const bench = await startBenchServer(200, [], async (store) => {
    tree = await createTree(store, 2)
    largeTree = await createTree(store, 2, manyBindings)
  })
  if (!tree || !largeTree) throw new Error('the store was not filled')
  const { identity, chain, deepest } = tree
  try {
    const authorization = await bench.authorizationOf(identity)
    const label = `${bindingCount} bindings, depth ${depth}`
    const single = grpcTask(checkAccess, { capability, resource: deepest }, authorization)
    const questions = Array.from({ length: batchSize }, (_, at) => ({
      ...{ capability, resource: chain[at % chain.length] ?? '' },
    }))
    const batch = grpcTask(batchCheckAccess, { questions }, authorization)
    return [
      await compareWithBareGrpc(`CheckAccess, gRPC, ${label}`, bench, single, minRatio),
      await batchLine(`BatchCheckAccess, gRPC, ${batchSize} questions, ${label}`, bench, batch),
      await decisionLine(`Decision when the grants have been read, ${label}`),
      await reachLine(bench, identity, largeTree.identity),
    ]
  } finally {
    await bench.end()
  }
}

/** CPU time of the server for each question. */
async function batchLine(
  label: string,
  { server }: BenchServer,
  task: ReturnType<typeof grpcTask>,
): Promise<Line> {
  const load = startProcess('load-core', 'bench/load/grpc-load.ts')
  const costs: number[] = []
  try {
    const few = { ...task, inFlight: 4 }
    await measure(load, server, { ...few, seconds: warmSeconds })
    for (let round = 0; round < rounds; round++)
      costs.push(1e6 / ((await measure(load, server, { ...few, seconds })).perCpu * batchSize))
  } finally {
    await load.stop()
  }
  return costLine(label, median(costs), maxBatchMicroseconds)
}

async function decisionLine(label: string): Promise<Line> {
  const { settings, remove } = await temporarySettings()
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  try {
    await prepareStore(config, store)
    const { identity, deepest } = await createTree(store, 2)
    const caller = { identity, issuedAt: Math.floor(Date.now() / 1000) + 1 }
    const { list } = await store.read(() => readGrants(caller, Date.now(), undefined))
    if (list.length !== bindingCount)
      throw new Error(`the identity has ${list.length} bindings instead of ${bindingCount}`)
    const bits = [capabilityNamed(capability)?.bit ?? 0]
    const costs = Array.from({ length: rounds }, () => {
      const before = process.cpuUsage()
      for (let at = 0; at < decisionsPerRound; at++)
        if (accessEnd(list, bits, deepest) === noAccess) throw new Error('the identity has no access')
      const { user, system } = process.cpuUsage(before)
      return (user + system) / decisionsPerRound
    })
    return costLine(label, median(costs), maxDecisionMicroseconds)
  } finally {
    await store.close()
    await remove()
  }
}

const costLine = (label: string, microseconds: number, goal: number): Line => ({
  ...{ label, measured: `${microseconds.toFixed(2)} µs of CPU`, baseline: `${goal} µs` },
  ...{ ratio: (goal / microseconds).toFixed(2), goal: '1.00', isMet: microseconds <= goal },
})
