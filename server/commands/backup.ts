import { createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { readConfig } from '../config/config.ts'
import type { RandomBytes } from '../crypto/random.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { backupLines } from '../store/backup.ts'
import type { Store } from '../store/db.ts'
import { loadMigrations } from '../store/migrations.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { recordCommand } from './record-command.ts'
import { withStore } from './with-store.ts'

export const backup: Command = async (args, context) => {
  const { env } = context
  const { config, positionals } = readConfig(env, args)
  const [path, ...extra] = positionals
  if (path === undefined || extra.length > 0) throw usageOf('backup')
  if (path !== '-' && existsSync(path)) throw new UsageError(`${path} already exists`)
  await withStore(config, async (store) => {
    // A backup contains the list of applied migrations, which a new store does not have before it is migrated.
    await store.migrate(loadMigrations())
    // Recorded first, so that an interrupted backup is in the log, too.
    await store.write(() => recordCommand(operatorAccessFor('stemmad backup'), 'store', 'read'))
    if (path === '-') await pipeline(compressedBackup(store), context.stdout)
    else await writeFileAtomically(store, path, context.random)
  })
  const key = config.secretKey ? 'STEMMA_SECRET_KEY' : `secret.key in ${config.dataDir}`
  context.stderr.write(
    `The backup is complete. Its keys and secrets are encrypted with the secret key (${key}), which the backup does not contain. Keep a copy of the secret key in another place.\n`,
  )
  return 0
}

const compressedBackup = (store: Store) =>
  Readable.from(backupLines(store, loadMigrations())).compose(createGzip())

/**
 * The file gets its name only when it is complete and synced to disk. Only its owner may read it:
 * it is created with a random name and never opened if it exists, so nobody else can have prepared it.
 */
async function writeFileAtomically(store: Store, path: string, random: RandomBytes): Promise<void> {
  const unfinished = `${path}.${random(8).toString('hex')}.unfinished`
  try {
    await pipeline(compressedBackup(store), createWriteStream(unfinished, { mode: 0o600, flags: 'wx' }))
    await syncFile(unfinished)
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

async function syncFile(path: string): Promise<void> {
  // Windows syncs only files that are open for writing.
  await using file = await open(path, 'r+')
  await file.sync()
}
