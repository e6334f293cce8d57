// A copy of all that is in the store, made while it serves.
import { createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { readConfig } from '../config/config.ts'
import { openStore } from '../storage.ts'
import { backupLines } from '../store/backup.ts'
import type { Store } from '../store/db.ts'
import { loadMigrations } from '../store/migrate.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

const usage = 'backup FILE|-'

export const backup: Command = {
  usage,
  about:
    'Writes all that is in the store, as it is at one moment, to a file or to standard output. Safe on a live store.',
  async run(args) {
    const { config, rest } = readConfig(process.env, args)
    const [path, ...more] = rest
    if (path === undefined || more.length > 0) throw new UsageError(`Usage: stemmad ${usage}`)
    if (path !== '-' && existsSync(path)) throw new UsageError(`${path} is there already`)
    const store = openStore(config)
    try {
      // An empty store has nothing to tell, not even of which version it is.
      await store.migrate(await loadMigrations())
      if (path === '-') await pipeline(packed(store), process.stdout)
      else await writeWhole(store, path)
    } finally {
      await store.close()
    }
    const key = config.secretKey ? 'STEMMA_SECRET_KEY' : `secret.key in ${config.dataDir}`
    process.stderr.write(
      `The backup is whole. Keep ${key} as well, elsewhere: without it no key or secret in the backup can be read.\n`,
    )
    return 0
  },
}

const packed = (store: Store) => Readable.from(backupLines(store)).compose(createGzip())

/** Under its name only once it is whole and on the disk; nobody else may read it. */
async function writeWhole(store: Store, path: string): Promise<void> {
  const unfinished = `${path}.unfinished`
  try {
    await pipeline(packed(store), createWriteStream(unfinished, { mode: 0o600 }))
    const file = await open(unfinished)
    await file.sync()
    await file.close()
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}
