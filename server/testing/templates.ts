// Prepared stores, of which tests use copies. To prepare a store takes 0.1 seconds of CPU time on SQLite and 0.3 on
// PostgreSQL, mostly for the migrations and an RSA key; to copy one takes a tenth of that.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import { memoryFolderOr } from './memory-folder.ts'
import type { Database } from './postgres.ts'
import { createDatabase } from './postgres.ts'
import type { Engine, TemporaryStore } from './stores.ts'
import { storeInDatabase, storeInFolder, temporaryFolder, temporaryStore } from './stores.ts'

/** The environment variables that name the templates of a test run. */
const variables = {
  sqlite: 'STEMMA_TEST_FOLDER_TEMPLATE',
  postgres: 'STEMMA_TEST_DATABASE_TEMPLATE',
} as const

/** Makes the templates of a test run. Returns a function that removes them. */
export async function makeTemplates(clusterUrl: string | undefined): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(memoryFolderOr(tmpdir()), 'stemma-template-'))
  await prepare(storeInFolder(folder).settings)
  process.env[variables.sqlite] = folder
  const database = clusterUrl === undefined ? undefined : await makeDatabaseTemplate(clusterUrl)
  return async () => {
    await rm(folder, { recursive: true, force: true })
    await database?.drop()
  }
}

async function makeDatabaseTemplate(clusterUrl: string): Promise<Database> {
  const database = await createDatabase(clusterUrl)
  const folder = await temporaryFolder()
  await prepare(storeInDatabase(folder, database).settings)
  await rm(folder, { recursive: true, force: true })
  process.env[variables.postgres] = new URL(database.url).pathname.slice(1)
  return database
}

async function prepare(settings: string[]): Promise<void> {
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  await prepareStore(config, store)
  await store.close()
}

/** A copy of the template. An empty store if the test run has no templates. */
export async function preparedStore(engine: Engine): Promise<TemporaryStore> {
  const template = process.env[variables[engine]]
  if (template === undefined) return temporaryStore(engine)
  const folder = await temporaryFolder()
  if (engine === 'postgres')
    return storeInDatabase(folder, await createDatabase(process.env.STEMMA_TEST_POSTGRES ?? '', template))
  await cp(template, folder, { recursive: true })
  return storeInFolder(folder)
}
