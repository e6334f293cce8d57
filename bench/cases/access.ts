// The cost of an access decision, measured in this process: an identity with 50 bindings in a tree of depth 8 asks
// for access at the deepest group. Grants are read from the store each time.
import { randomBytes } from 'node:crypto'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import type { Demand } from '../../server/policy/admit.ts'
import { admitToRead, admitToRow } from '../../server/policy/admit.ts'
import { openGrantParser } from '../../server/policy/grants.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { renderedRow } from '../../server/store/row-query.ts'
import { testEnvelope } from '../../server/testing/envelope.ts'
import { median } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import { temporarySettings } from '../stores/bench-server.ts'
import { bindingCount, createTree, depth } from '../stores/bindings-tree.ts'

const rounds = 21
const decisionsPerRound = 5000
const maxMicroseconds = 10

export async function benchAccess(): Promise<Line[]> {
  const { settings, remove } = await temporarySettings()
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  try {
    await prepareStore(config, store)
    const lines: Line[] = []
    for (const bindingsInChain of [2, depth]) {
      const { identity, deepest } = await createTree(store, bindingsInChain)
      lines.push(...(await linesOf(store, demandOf(identity, deepest), bindingsInChain)))
    }
    return lines
  } finally {
    await store.close()
    await remove()
  }
}

async function linesOf(store: Store, demand: Demand, bindingsInChain: number): Promise<Line[]> {
  // A new caller object each time, because grants are remembered for each object
  // (server/policy/remembered-grants.ts).
  const forNewCaller = () => ({ ...demand, caller: { ...demand.caller } })
  const decideAndReadRow = async () =>
    admitToRow(
      store,
      forNewCaller(),
      renderedRow(groups.table, demand.scope, groups.forms.json, demand.now()),
    )
  const decide = async () => store.read(() => admitToRead(forNewCaller()))
  const label = `Access, ${bindingCount} bindings, ${bindingsInChain} of them at or above the group, depth ${depth}`
  return [await lineOf(`${label}, and a read of the group`, decideAndReadRow), await lineOf(label, decide)]
}

async function lineOf(label: string, decide: () => Promise<unknown>): Promise<Line> {
  for (let at = 0; at < 4 * decisionsPerRound; at++) await decide() // warm-up
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) costs.push(await costOf(decide))
  const cost = median(costs)
  return {
    label,
    measured: `${cost.toFixed(1)} µs of CPU`,
    baseline: `${maxMicroseconds} µs`,
    ratio: (maxMicroseconds / cost).toFixed(2),
    goal: '1.00',
    isMet: cost <= maxMicroseconds,
  }
}

/** CPU time of a decision in microseconds. */
async function costOf(decide: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < decisionsPerRound; at++) await decide()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / decisionsPerRound
}

const parseGrants = openGrantParser()

const demandOf = (identity: string, scope: string): Demand => ({
  caller: { identity, issuedAt: Math.floor(Date.now() / 1000) + 1 },
  capabilities: [Capability.CAP_IAM_GROUPS_LIST],
  ...{
    scope,
    scopeField: 'uid',
    isForOperators: false,
    isScopeOptional: false,
    fault: undefined,
    resourceType: GroupSchema.typeName,
  },
  parseGrants,
  now: Date.now,
  random: randomBytes,
  origin: { method: 'bench', envelope: testEnvelope },
  defaultLimits: new Map(),
})
