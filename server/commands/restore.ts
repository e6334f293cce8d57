import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { prepareStore } from '../storage.ts'
import { loadMigrations } from '../store/migrations.ts'
import { restoreLines } from '../store/restore.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { decompressedLines } from './decompressed-lines.ts'
import { openProgress } from './progress.ts'
import { recordCommand } from './record-command.ts'
import { withStore } from './with-store.ts'

export const restore: Command = async (args, context) => {
  const { config, positionals } = readConfig(context.env, args)
  const [path, ...extra] = positionals
  if (path === undefined || extra.length > 0) throw usageOf('restore')
  const keyFile = join(config.dataDir, 'secret.key')
  if (config.secretKey === undefined && !existsSync(keyFile))
    throw new UsageError(
      `put the secret key of the server that made the backup into ${keyFile}, or set STEMMA_SECRET_KEY`,
    )
  const progress = openProgress('rows', { stream: context.stderr })
  const count = await withStore(config, async (store) => {
    const restored = await restoreLines({
      store,
      migrations: loadMigrations(),
      lines: decompressedLines(path === '-' ? context.stdin : createReadStream(path)),
      now: context.now,
      onProgress: (rows) => progress.update(rows, undefined),
    }).finally(progress.end)
    await prepareStore(config, store, context)
    const access = operatorAccessFor('stemmad restore')
    await store.write(() => recordCommand(access, 'store', 'restored', { rows: restored }))
    return restored
  })
  context.stdout.write(`Restored ${count.toLocaleString('en')} rows.\n`)
  return 0
}
