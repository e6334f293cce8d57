import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFile } from '../package-files.ts'
import type { Migration } from './db.ts'

const folder = packageFile('store/migrations')

const readNames = () =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort()

/** The name of the last migration that this program has. */
export const latestMigration = (): string => readNames().at(-1) ?? ''

/**
 * All migrations of this program, in the order of their names. They are read synchronously, because
 * asynchronous reads take three times as long.
 */
export function loadMigrations(): Migration[] {
  return readNames().map((name) => ({
    name,
    script: readFileSync(join(folder, `${name}.sql`), 'utf8'),
  }))
}

/** Tables with the state of running servers, which are not part of a backup. */
const transientTables = ['rate_copies']

/**
 * The tables of a backup, in the order of their creation, so that none refers to a later one. They are read from the
 * migrations: a database may also have tables of others, and a backup with their rows could not be restored.
 */
export function dumpedTables(migrations: readonly Migration[]): string[] {
  let tables = ['migrations']
  for (const { script } of migrations)
    for (const [, created, dropped, renamed, name = ''] of script.matchAll(tableChange)) {
      if (created !== undefined) tables.push(created)
      else tables = tables.flatMap((table) => (table === renamed ? name : table === dropped ? [] : table))
    }
  return tables.filter((table) => !transientTables.includes(table))
}

const tableChange =
  /^(?:create (?:\/\*pg unlogged \*\/ )?table (\w+)|drop table (\w+)|alter table (\w+) rename to (\w+))/gm
