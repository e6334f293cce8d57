// A lock file, for processes that share a folder.
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './failure.ts'

/** A lock of this age is stale: its owner has crashed, since no work under a lock takes this long. */
const staleAfterMs = 30_000
const timeoutMs = staleAfterMs + 10_000
const pollIntervalMs = 50

/** Runs `work` while no other process has the lock. `now` returns milliseconds since 1970. */
export async function withLock<T>(file: string, now: () => number, work: () => Promise<T>): Promise<T> {
  await acquire(file, now)
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function acquire(file: string, now: () => number): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const deadline = now() + timeoutMs
  while (!(await tryAcquire(file))) {
    if (now() > deadline)
      throw new UsageError(
        `another stemma process has locked ${file}; remove the file if no such process is running`,
      )
    if (await isStale(file, now)) await removeStale(file, now)
    else await sleep(pollIntervalMs)
  }
}

async function tryAcquire(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a stale lock under a second lock. Otherwise two processes could find the same stale lock, and the slower one
 * would remove the new lock of the faster one.
 */
const removeStale = (file: string, now: () => number): Promise<void> =>
  withLock(`${file}.stale`, now, async () => {
    if (await isStale(file, now)) await rm(file, { force: true })
  })

async function isStale(file: string, now: () => number): Promise<boolean> {
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return stats !== undefined && now() - stats.mtimeMs > staleAfterMs
}
