import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../config/config.ts'
import { contentStorage } from '../content-storage.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { collectGarbage } from '../resources/registry/collection/collect.ts'
import type { CollectionTotals } from '../resources/registry/collection/collection.ts'
import { planCollection } from '../resources/registry/collection/plan.ts'
import { loadMigrations } from '../store/migrations.ts'
import type { Command } from './command.ts'
import { usageOf } from './command.ts'
import { countOf, formatBytes } from './format-bytes.ts'
import { openProgress } from './progress.ts'
import { recordCommand } from './record-command.ts'
import { withStore } from './with-store.ts'

/** Between two transactions, for the servers that use the store meanwhile. */
const pauseMs = 10

export const gc: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, {
    ...{ 'dry-run': { type: 'boolean' }, unknown: { type: 'boolean' } },
  })
  if (positionals.length > 0) throw usageOf('gc')
  const isDryRun = flags['dry-run'] === true
  const options = { withUnknownBlobs: flags.unknown === true }
  const content = contentStorage(config)
  const progress = openProgress('blobs', { stream: context.stderr })
  try {
    const totals = await withStore(config, async (store) => {
      await store.migrate(loadMigrations())
      const { graceMs } = config.garbageCollection
      const deps = {
        ...{ store, storage: await content.open(), now: context.now, graceMs },
        onProgress: ({ blobs }: CollectionTotals) => progress.update(blobs, undefined),
      }
      if (isDryRun) return planCollection(deps, options)
      const access = operatorAccessFor('stemmad gc')
      const collected = await collectGarbage({ ...deps, access, pause: () => pause(pauseMs) }, options)
      await store.write(() => recordCommand(access, 'content', 'collected', { ...options, ...collected }))
      return collected
    }).finally(() => progress.end())
    context.stdout.write(summaryOf(totals, isDryRun))
    return totals.failures > 0 ? 1 : 0
  } finally {
    await content.close()
  }
}

function summaryOf({ blobs, bytes, uploads, links, failures }: CollectionTotals, isDryRun: boolean): string {
  const [deleted, unlinked] = isDryRun ? ['Would delete', 'would unlink'] : ['Deleted', 'unlinked']
  const main = `${deleted} ${countOf(blobs, 'blob')} (${formatBytes(bytes)}) and ${countOf(uploads, 'unfinished upload')}, and ${unlinked} ${countOf(links, 'unused blob')} from repos.\n`
  return failures === 0
    ? main
    : `${main}${countOf(failures, 'blob')} could not be deleted; a later collection tries again.\n`
}
