import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Platform } from '../../server/testing/platform.ts'

/** Locks the store as another process would, so that creates of groups wait. Returns a function that ends the lock. */
export async function lockStore({ config }: Platform): Promise<() => Promise<void>> {
  if (config.databaseUrl === undefined) {
    const db = new DatabaseSync(join(config.dataDir, 'stemma.db'))
    db.exec('begin immediate')
    return async () => db.close()
  }
  const client = new pg.Client(config.databaseUrl)
  await client.connect()
  await client.query('begin; lock table groups in exclusive mode')
  return () => client.end()
}
