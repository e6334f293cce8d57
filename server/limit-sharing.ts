// Shares rate limits among the copies of the server and among the threads of a copy.
import { randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { openCopyExchange } from './limits/sharing/copies.ts'
import type { Sharing } from './limits/sharing/sharing.ts'
import { noSharing, startSharing } from './limits/sharing/sharing.ts'
import { openThreadExchange } from './limits/sharing/threads.ts'
import type { Log } from './log.ts'
import type { Store } from './store/db.ts'
import type { WorkerRole } from './worker-role.ts'

type SharingOptions = {
  config: Config
  store: Store
  log: Log
  core: Pick<Core, 'sharedLimits' | 'clock'>
  role: Pick<WorkerRole, 'shared' | 'sharesPort'>
  intervalMs: number | undefined
}

/**
 * With PostgreSQL, all threads of all copies share limits through the database. With SQLite, there
 * is only one copy, and its threads share limits through a channel.
 */
export function shareLimits({ config, store, log, core, role, intervalMs }: SharingOptions): Sharing {
  const { sharedLimits: limits, clock } = core
  const onError = (err: unknown) => log.warn({ err }, 'the rate limits could not be shared with other copies')
  if (store.engine === 'postgres')
    return startSharing(
      openCopyExchange({ store, limits, clock, now: Date.now, id: randomUUID() }),
      onError,
      intervalMs,
    )
  if (!role.sharesPort) return noSharing
  const channel = new BroadcastChannel(role.shared.channel)
  return startSharing(openThreadExchange({ channel, limits, count: config.workers }), onError, intervalMs)
}
