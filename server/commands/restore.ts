// Fills an empty store with what a backup holds, on the engine that it was made on or on the other.
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import { loadMigrations } from '../store/migrate.ts'
import { BackupError, restoreLines } from '../store/restore.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import { openProgress } from './progress.ts'

const usage = 'restore FILE|-'

export const restore: Command = {
  usage,
  about: 'Fills an empty store, embedded or PostgreSQL, with what a backup of either holds.',
  async run(args) {
    const { config, rest } = readConfig(process.env, args)
    const [path, ...more] = rest
    if (path === undefined || more.length > 0) throw new UsageError(`Usage: stemmad ${usage}`)
    const key = join(config.dataDir, 'secret.key')
    if (config.secretKey === undefined && !existsSync(key))
      throw new UsageError(`put the secret that belongs to the backup into ${key}, or set STEMMA_SECRET_KEY`)
    const store = openStore(config)
    const progress = openProgress('rows')
    try {
      const source = path === '-' ? process.stdin : createReadStream(path)
      const count = await restoreLines({
        store,
        migrations: await loadMigrations(),
        lines: unpacked(source),
        now: Date.now,
        onProgress: (rows) => progress.update(rows, undefined),
      })
      progress.end()
      await prepareStore(config, store)
      process.stdout.write(`Restored ${count.toLocaleString('en')} rows.\n`)
      return 0
    } finally {
      await store.close()
    }
  },
}

async function* unpacked(source: Readable): AsyncGenerator<string> {
  const failure = Promise.withResolvers<never>()
  const gunzip = createGunzip()
  for (const stream of [source, gunzip]) stream.once('error', failure.reject)
  failure.promise.catch(() => {}) // whoever waits for the next line is told
  const lines = createInterface({ input: source.pipe(gunzip), crlfDelay: Number.POSITIVE_INFINITY })
  const each = lines[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([each.next(), failure.promise]).catch((error: NodeJS.ErrnoException) => {
      throw error.code?.startsWith('Z_')
        ? new BackupError('this is no backup of Stemma, or a broken one')
        : error
    })
    if (next.done) return
    yield next.value
  }
}
