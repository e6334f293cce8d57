// Temporary stores, and suites that run once on each engine.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import { memoryFolderOr } from './memory-folder.ts'
import type { Database } from './postgres.ts'
import { createDatabase } from './postgres.ts'

export type Engine = 'sqlite' | 'postgres'

const clusterUrl = process.env.STEMMA_TEST_POSTGRES

/** Declares the same tests for both engines. The tests on PostgreSQL are skipped if no cluster is running. */
export function onEachStore(name: string, tests: (engine: Engine) => void): void {
  describe(`${name} (SQLite)`, () => tests('sqlite'))
  const skip = clusterUrl ? false : 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'
  describe(`${name} (PostgreSQL)`, { skip }, () => tests('postgres'))
}

/** `settings` are the flags of stemmad that select the store. */
export type TemporaryStore = { settings: string[]; remove(): Promise<void> }

/** An empty store. */
export async function temporaryStore(engine: Engine): Promise<TemporaryStore> {
  const folder = await temporaryFolder()
  return engine === 'sqlite'
    ? storeInFolder(folder)
    : storeInDatabase(folder, await createDatabase(clusterUrl ?? ''))
}

export const temporaryFolder = () => mkdtemp(join(memoryFolderOr(tmpdir()), 'stemma-test-'))

export const storeInFolder = (folder: string): TemporaryStore => ({
  settings: ['--data-dir', folder],
  remove: () => rm(folder, { recursive: true, force: true }),
})

const secretKey = 'a secret key that is only used in tests'

export const storeInDatabase = (folder: string, database: Database): TemporaryStore => ({
  settings: ['--data-dir', folder, '--database-url', database.url, '--secret-key', secretKey],
  async remove() {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  },
})
