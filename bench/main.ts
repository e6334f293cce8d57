// Benchmarks, as ratios against a bound taken in the same run. `npm run bench -- get list` runs those alone.
import { loadavg } from 'node:os'
import { benchAccess } from './access.ts'
import { benchAdvisories } from './advisories.ts'
import { benchBindings } from './bindings.ts'
import { pinning } from './cores.ts'
import { benchCreates } from './creates.ts'
import { benchExchange } from './exchange.ts'
import { benchGet } from './get.ts'
import { benchGrpc } from './grpc.ts'
import { benchImport } from './import.ts'
import { benchList } from './list.ts'
import { benchPages } from './pages.ts'
import { benchPostgres } from './postgres.ts'
import type { Bench, Line } from './report.ts'
import { formatTable } from './report.ts'
import { benchStart } from './start.ts'

const benches: Record<string, Bench> = {
  get: benchGet,
  list: benchList,
  bindings: benchBindings,
  access: benchAccess,
  exchange: benchExchange,
  advisories: benchAdvisories,
  import: benchImport,
  grpc: benchGrpc,
  creates: benchCreates,
  pages: benchPages,
  start: benchStart,
  postgres: benchPostgres,
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  console.error(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}

console.log(pinning)
const [busy = 0] = loadavg()
if (busy > 0.7)
  console.log(`The machine is busy (load ${busy.toFixed(1)}), which costs us more than the bounds.`)
const lines: Line[] = []
for (const [name, run] of Object.entries(benches)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const started = performance.now()
  try {
    lines.push(...(await run()))
    console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s`)
  } catch (error) {
    // The others are still worth their time.
    console.error(`${name} failed:`, error)
    process.exitCode = 1
  }
}
console.log(`\n${formatTable(lines)}`)
