// Temporary stores, and suites that run once on each engine.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import { memoryFolderOr } from './memory-folder.ts'
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

export async function temporaryStore(engine: Engine): Promise<TemporaryStore> {
  const folder = await mkdtemp(join(memoryFolderOr(tmpdir()), 'stemma-test-'))
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  if (engine === 'sqlite') return { settings: ['--data-dir', folder], remove: removeFolder }
  const database = await createDatabase(clusterUrl ?? '')
  const secret = 'a secret key that is only used in tests'
  return {
    settings: ['--data-dir', folder, '--database-url', database.url, '--secret-key', secret],
    async remove() {
      await database.drop()
      await removeFolder()
    },
  }
}
