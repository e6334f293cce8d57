// Runs the benchmarks and prints ratios against a baseline measured in the same run. `npm run bench -- get list` runs
// only those two.
import { loadavg } from 'node:os'
import { benchAccess } from './cases/access.ts'
import { benchAdvisories } from './cases/advisories.ts'
import { benchBindings } from './cases/bindings.ts'
import { benchCheck } from './cases/check.ts'
import { benchConsole } from './cases/console.ts'
import { benchCreates } from './cases/creates.ts'
import { benchExchange } from './cases/exchange.ts'
import { benchGet } from './cases/get.ts'
import { benchGrpc } from './cases/grpc.ts'
import { benchImport } from './cases/import.ts'
import { benchLane } from './cases/lane.ts'
import { benchLimits } from './cases/limits.ts'
import { benchList } from './cases/list.ts'
import { benchPages } from './cases/pages.ts'
import { benchPostgres } from './cases/postgres.ts'
import { benchRecording } from './cases/recording.ts'
import { benchRegistry } from './cases/registry.ts'
import { benchStart } from './cases/start.ts'
import { benchWorkers } from './cases/workers.ts'
import { pinning } from './load/cores.ts'
import { measuredProgram } from './load/processes.ts'
import type { Bench, Line } from './report/report.ts'
import { formatTable } from './report/report.ts'

const benches: Record<string, Bench> = {
  get: benchGet,
  list: benchList,
  bindings: benchBindings,
  access: benchAccess,
  check: benchCheck,
  exchange: benchExchange,
  advisories: benchAdvisories,
  import: benchImport,
  grpc: benchGrpc,
  creates: benchCreates,
  recording: benchRecording,
  pages: benchPages,
  start: benchStart,
  postgres: benchPostgres,
  workers: benchWorkers,
  lane: benchLane,
  limits: benchLimits,
  registry: benchRegistry,
  console: benchConsole,
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  console.error(
    `unknown benchmark ${unknown.join(', ')}; the benchmarks are ${Object.keys(benches).join(', ')}`,
  )
  process.exit(2)
}

console.log(pinning)
console.log(measuredProgram)
const [load = 0] = loadavg()
if (load > 0.7)
  console.log(`The machine is busy (load ${load.toFixed(1)}): ratios will be lower than on a quiet machine.`)
const lines: Line[] = []
for (const [name, run] of Object.entries(benches)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const started = performance.now()
  try {
    lines.push(...(await run()))
    console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s`)
  } catch (error) {
    // The remaining benchmarks still run.
    console.error(`${name} failed:`, error)
    process.exitCode = 1
  }
}
console.log(`\n${formatTable(lines)}`)
// A benchmark that failed may have left handles open.
process.exit()
