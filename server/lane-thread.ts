// The program of the thread for expensive calls (workers/lane.ts).
import { parentPort, workerData } from 'node:worker_threads'
import { loadInBackground, runInBackground } from './threads/priority.ts'
import type { LaneData } from './worker-role.ts'

const port = parentPort
if (!port) throw new Error('lane-thread.ts runs only as a thread')

loadInBackground()
// Loading these takes half a second of processor time.
const [{ openCore }, { openLog }, { openStore, readTimeoutMs }, { serveCalls }] = await Promise.all([
  import('./core.ts'),
  import('./log.ts'),
  import('./storage.ts'),
  import('./workers/call-server.ts'),
])
const { config, shared } = workerData as LaneData // set by laneOf
const log = openLog(config.logLevel, { outputLock: shared.outputLock })
// Several calls may arrive in one turn of the event loop. Each must see what was committed before it arrived.
const store = openStore(config, log, { readTimeoutMs, commits: shared.commits, isolatesReads: true })
const core = await openCore({ config, log, store, maxListRows: undefined })
runInBackground()
serveCalls(port, core)
