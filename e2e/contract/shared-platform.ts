// A platform for all suites of examples in a process, because each of their runs has its own organization.
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { startOnce } from '../../server/testing/shared-platform.ts'
import type { Engine } from '../../server/testing/stores.ts'

const byClock: Record<Engine, Map<() => number, () => Promise<Platform>>> = {
  sqlite: new Map(),
  postgres: new Map(),
}

/** The platform with this clock. */
export function platformOfExamples(engine: Engine, now: () => number): Promise<Platform> {
  const start =
    byClock[engine].get(now) ??
    startOnce(() =>
      startPlatform(engine, [], {
        ...{ now, random: countingBytes() },
        // The doors answer alike only if nothing changes in the background.
        deliversInBackground: false,
      }),
    )
  byClock[engine].set(now, start)
  return start()
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
