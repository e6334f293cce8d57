// A platform for all suites of examples in a process, because each of their runs has its own organization. To start one
// takes 0.2 seconds of CPU time on SQLite, and more on PostgreSQL, which copies a database.
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Engine } from '../../server/testing/stores.ts'

type Shared = { suites: number; platform?: Promise<Platform> | undefined }

const sharedByClock: Record<Engine, Map<() => number, Shared>> = { sqlite: new Map(), postgres: new Map() }

/** Called when a suite is declared. The first suite that runs starts the platform, and the last one stops it. */
export function sharePlatform(engine: Engine, now: () => number) {
  const byClock = sharedByClock[engine]
  const shared = byClock.get(now) ?? { suites: 0 }
  byClock.set(now, shared)
  shared.suites++
  return {
    start: () =>
      (shared.platform ??= startPlatform(engine, [], {
        ...{ now, random: countingBytes() },
        // The doors answer alike only if nothing changes in the background.
        deliversInBackground: false,
      })),
    async stop() {
      if (--shared.suites > 0) return
      const { platform } = shared
      shared.platform = undefined
      await (await platform)?.stop()
    },
  }
}

/** Replaces the source of randomness by a counter, so that lists by uid are in order of creation in every run. */
function countingBytes(): (size: number) => Buffer {
  let count = 0
  return (size) => {
    const bytes = Buffer.alloc(size)
    bytes.writeUInt32BE(++count, size - 4)
    return bytes
  }
}
