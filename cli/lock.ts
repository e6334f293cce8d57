// One at a time among programs that share a folder.
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './usage.ts'

/** Whoever holds a lock for longer than this has died; nothing that is done under one takes so long. */
const longest = 30_000
const patience = longest + 10_000
const pause = 50

export async function withLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  await take(file)
  try {
    return await act()
  } finally {
    await rm(file, { force: true })
  }
}

async function take(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const end = Date.now() + patience
  while (!(await couldTake(file))) {
    if (Date.now() > end)
      throw new UsageError(`another stemma holds ${file}; remove it if none is running any more`)
    if (!(await isStale(file))) await sleep(pause)
    // Two who find it stale must not remove, one after the other, also the lock that the first then takes.
    else
      await withLock(`${file}.stale`, async () => {
        if (await isStale(file)) await rm(file, { force: true })
      })
  }
}

async function couldTake(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function isStale(file: string): Promise<boolean> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return found !== undefined && Date.now() - found.mtimeMs > longest
}
