// A process that collects garbage of the registry until it is killed. Its grace period and its pauses are multiples of the
// time of a collection: short enough to conflict with pushes in progress, and long enough on a slow machine that most
// pushes succeed. Takes the flags of stemmad that select the store. Prints a line when it begins.
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../config/config.ts'
import { contentStorage } from '../content-storage.ts'
import { collectionAccess } from '../policy/system-access.ts'
import { collectGarbage } from '../resources/registry/collection/collect.ts'
import { openStore } from '../storage.ts'

const { config } = readConfig({}, process.argv.slice(2))
const store = openStore(config)
const storage = await contentStorage(config).open()
process.stdout.write('collecting\n')
for (let lastMs = 20; ; ) {
  const start = Date.now()
  await collectGarbage(
    {
      ...{ access: collectionAccess, store, storage, now: Date.now, graceMs: randomInt(20 * lastMs) },
      pause: () => pause(randomInt(20)),
    },
    { withUnknownBlobs: randomInt(4) === 0 },
  )
  lastMs = Math.max(20, Date.now() - start)
  await pause(randomInt(5 * lastMs))
}
