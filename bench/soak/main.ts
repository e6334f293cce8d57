// Attacks a server for ten minutes while well-behaved clients use it, and compares their latency
// with that before the attacks. Everything runs on this machine. `npm run soak -- --seconds 30` is
// a short run.
import { loadavg } from 'node:os'
import { formatTable } from '../report/report.ts'
import type { SoakOptions } from './options.ts'
import { parseOptions, usage } from './options.ts'
import { detailsOf, linesOf } from './report.ts'
import { runSoak } from './run.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => interrupted.abort(new Error(`interrupted by ${signal}`)))

const options = readOptions()
if (options) {
  const [load = 0] = loadavg()
  if (load > 0.7) console.log(`The machine is busy (load ${load.toFixed(1)}): the results will be worse.`)
  try {
    const measured = await runSoak(options, interrupted.signal)
    const lines = linesOf(measured)
    console.log(`\n${detailsOf(measured).join('\n')}\n\n${formatTable(lines)}`)
    process.exitCode = lines.some(({ isMet }) => isMet === false) ? 1 : 0
  } catch (error) {
    console.error(interrupted.signal.aborted ? String(interrupted.signal.reason) : error)
    process.exitCode = 1
  }
}

function readOptions(): SoakOptions | undefined {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`)
    process.exitCode = 2
    return undefined
  }
}
