// Stores of which tests use copies. To prepare a store takes 0.1 seconds of CPU time on SQLite and 0.3 on PostgreSQL,
// mostly for the migrations and an RSA key; to copy one takes a tenth of that.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import { loadMigrations } from '../store/migrations.ts'
import { memoryFolderOr } from './memory-folder.ts'
import { migratedTemplates } from './migrated-templates.ts'
import type { Database } from './postgres.ts'
import { createDatabase } from './postgres.ts'
import type { Engine, TemporaryStore } from './stores.ts'
import { storeInDatabase, storeInFolder, temporaryFolder, temporaryStore } from './stores.ts'

/** The environment variables that name the prepared stores of a test run. */
const variables = {
  sqlite: 'STEMMA_TEST_FOLDER_TEMPLATE',
  postgres: 'STEMMA_TEST_DATABASE_TEMPLATE',
} as const

/** Makes the templates of a test run. Returns a function that removes them. */
export async function makeTemplates(clusterUrl: string | undefined): Promise<() => Promise<void>> {
  const [migrated, prepared] = [await makeFolder(), await makeFolder()]
  await migrate(storeInFolder(migrated).settings)
  await cp(migrated, prepared, { recursive: true })
  await prepare(storeInFolder(prepared).settings)
  process.env[migratedTemplates.sqlite] = migrated
  process.env[variables.sqlite] = prepared
  const databases = clusterUrl === undefined ? [] : await makeDatabaseTemplates(clusterUrl)
  return async () => {
    for (const folder of [migrated, prepared]) await rm(folder, { recursive: true, force: true })
    for (const database of databases) await database.drop()
  }
}

const makeFolder = () => mkdtemp(join(memoryFolderOr(tmpdir()), 'stemma-template-'))

async function makeDatabaseTemplates(clusterUrl: string): Promise<Database[]> {
  const folder = await temporaryFolder()
  const migrated = await createDatabase(clusterUrl)
  await migrate(storeInDatabase(folder, migrated).settings)
  const prepared = await createDatabase(clusterUrl, nameOf(migrated))
  await prepare(storeInDatabase(folder, prepared).settings)
  await rm(folder, { recursive: true, force: true })
  process.env[migratedTemplates.postgres] = nameOf(migrated)
  process.env[variables.postgres] = nameOf(prepared)
  return [migrated, prepared]
}

const nameOf = ({ url }: Database) => new URL(url).pathname.slice(1)

async function migrate(settings: string[]): Promise<void> {
  const store = openStore(readConfig({}, settings).config)
  await store.migrate(loadMigrations())
  await store.close()
}

async function prepare(settings: string[]): Promise<void> {
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  await prepareStore(config, store)
  await store.close()
}

/** A copy of the prepared store. An empty store if the test run has no templates. */
export async function preparedStore(engine: Engine): Promise<TemporaryStore> {
  const template = process.env[variables[engine]]
  if (template === undefined) return temporaryStore(engine)
  const folder = await temporaryFolder()
  if (engine === 'postgres')
    return storeInDatabase(folder, await createDatabase(process.env.STEMMA_TEST_POSTGRES ?? '', template))
  await cp(template, folder, { recursive: true })
  return storeInFolder(folder)
}
