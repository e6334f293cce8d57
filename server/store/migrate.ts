import { readdir, readFile } from 'node:fs/promises'
import type { Migration } from './db.ts'

const folder = new URL('./migrations/', import.meta.url)

/** All migrations of this program, in the order of their names. */
export async function loadMigrations(): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ''),
      script: await readFile(new URL(file, folder), 'utf8'),
    })),
  )
}
