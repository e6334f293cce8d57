// Deletes expired role bindings, regularly while the server runs. They have no effect any more, so this only saves space.
import type { Log } from './log.ts'
import { expiryAccess } from './policy/system-access.ts'
import { hasExpired, removeExpired } from './resources/iam/expired-bindings.ts'
import { claimTask } from './store/claim-task.ts'
import type { Store } from './store/db.ts'

const checkIntervalMs = 60_000
const task = 'expired role bindings'

export type BindingExpiry = {
  /** Deletes the bindings that have expired, unless this or another copy has done so within the interval. */
  run(): Promise<void>
  /** Ends after the current transaction. */
  stop(): Promise<void>
}

export function scheduleBindingExpiry(store: Store, log: Log, now: () => number): BindingExpiry {
  let isStopped = false
  let running: Promise<void> | undefined

  const removeAll = async () => {
    const time = now()
    if (!(await store.read(() => hasExpired(time)))) return
    if (!(await store.write(() => claimTask(task, time, checkIntervalMs)))) return
    let mayBeMore = true
    while (mayBeMore && !isStopped) mayBeMore = await store.write(() => removeExpired(expiryAccess, time))
  }
  const run = () => {
    running ??= removeAll()
      .catch((err: unknown) => log.warn({ err }, 'expired role bindings could not be deleted'))
      .finally(() => {
        running = undefined
      })
    return running
  }
  const timer = setInterval(run, checkIntervalMs).unref()
  return {
    run,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await running
    },
  }
}
