// Opens the store that the configuration names, and brings it up to date.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { KeyRing } from './auth/keys/key-ring.ts'
import { openKeyRing } from './auth/keys/key-ring.ts'
import type { MakeRsaKey } from './auth/keys/rsa-key.ts'
import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import type { Secret } from './crypto/secret.ts'
import { makeSecret } from './crypto/secret.ts'
import { readSecretFile } from './crypto/secret-file.ts'
import type { Log } from './log.ts'
import { startAccess } from './policy/system-access.ts'
import { resources } from './resource-list.ts'
import { rerenderRows } from './resources/rerender.ts'
import type { Store } from './store/db.ts'
import { loadMigrations } from './store/migrations.ts'
import type { PostgresOptions } from './store/postgres/postgres.ts'
import { openPostgres } from './store/postgres/postgres.ts'
import { makePrivate } from './store/sqlite/private-files.ts'
import type { SqliteOptions } from './store/sqlite/sqlite.ts'
import { openSqlite } from './store/sqlite/sqlite.ts'
import { storeFile } from './store/sqlite/store-file.ts'

/** The kinds whose rows are counted in the tally. */
export const talliedKinds = resources.map(({ kind }) => kind.table.name)

/**
 * How long a statement of a call that only reads may take in PostgreSQL. Writes may wait longer for locks, up to the
 * deadline of the call.
 */
export const readTimeoutMs = 20_000

export type StoreOptions = SqliteOptions & Pick<PostgresOptions, 'readTimeoutMs' | 'currentParty'>

export function openStore(config: Config, log?: Log, options: StoreOptions = {}): Store {
  if (config.databaseUrl) {
    return openPostgres({
      url: config.databaseUrl,
      connections: config.databaseConnections,
      ...options,
      onIdleError: (err) => log?.warn({ err }, 'a connection to the store broke; it is replaced'),
    })
  }
  for (const message of makePrivate(config.dataDir, privateFiles)) {
    if (log) log.warn(message)
    else process.stderr.write(`stemmad: ${message}\n`)
  }
  return openSqlite(join(config.dataDir, storeFile), options)
}

const privateFiles = [storeFile, `${storeFile}-wal`, `${storeFile}-shm`, 'secret.key']

type KeyOptions = { now?: () => number; random?: RandomBytes; makeRsaKey?: MakeRsaKey | undefined }

type OpenedKeys = { keys: KeyRing; secret: Secret }

/** Migrates the store, brings its rows up to date, and opens its keys. */
export async function prepareStore(
  config: Config,
  store: Store,
  options: KeyOptions = {},
): Promise<OpenedKeys & { applied: string[] }> {
  const applied = await store.migrate(loadMigrations())
  for (const { kind } of resources) await rerenderRows(store, startAccess, kind)
  for (const { onStart } of resources) await onStart?.(store, startAccess)
  return { ...(await openKeys(config, store, options)), applied }
}

/** Opens the keys of a store that is already prepared. */
export async function openKeys(
  config: Config,
  store: Store,
  { now = Date.now, random = randomBytes, makeRsaKey }: KeyOptions = {},
): Promise<OpenedKeys> {
  const secret = makeSecret(config.secretKey ?? readSecretFile(config.dataDir, random), random)
  const { tokenAlgorithm } = config
  const keys = await openKeyRing({ store, secret, tokenAlgorithm, now, random, makeRsaKey })
  return { keys, secret }
}
