import { readdirSync, readFileSync } from 'node:fs'
import type { Migration } from './db.ts'

const folder = new URL('./migrations/', import.meta.url)

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
    script: readFileSync(new URL(`${name}.sql`, folder), 'utf8'),
  }))
}
