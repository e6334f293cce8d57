// The program of the thread for expensive calls (workers/lane.ts).
import { parentPort, workerData } from 'node:worker_threads'
import { loadInBackground, runInBackground } from './threads/priority.ts'
import type { LaneData } from './worker-role.ts'

const port = parentPort
if (!port) throw new Error('lane-thread.ts runs only as a thread')

loadInBackground()
// Loading these takes half a second of processor time.
const [
  { openCore },
  { openParties, partyOfCaller },
  { openLog },
  { openStore, readTimeoutMs },
  { serveCalls },
] = await Promise.all([
  import('./core.ts'),
  import('./fair-queueing/parties.ts'),
  import('./log.ts'),
  import('./storage.ts'),
  import('./workers/call-server.ts'),
])
const { config, shared } = workerData as LaneData // set by laneOf
const log = openLog(config.logLevel, { outputLock: shared.outputLock })
const parties = config.databaseUrl ? openParties() : undefined
const store = openStore(config, log, {
  ...{ readTimeoutMs, commits: shared.commits, currentParty: parties?.current },
  // Several calls may arrive in one turn of the event loop. Each must see what was committed before it arrived.
  isolatesReads: true,
})
const core = await openCore({ config, log, store, parties, isPrepared: true, maxListRows: undefined }).catch(
  (err) => {
    log.error({ err }, 'the lane cannot start, so expensive calls fail')
    log.flush()
    throw err
  },
)
setInterval(reloadKeys, 60_000).unref()
runInBackground()
serveCalls(port, {
  ...core,
  runForCaller: parties && (({ identity }, task) => parties.runFor(() => partyOfCaller(identity), task)),
})

/** Workers rotate the keys, and the lane must know those of their page tokens. */
function reloadKeys(): void {
  core.keys.reload().catch((err: unknown) => log.warn({ err }, 'the lane could not read the keys'))
}
