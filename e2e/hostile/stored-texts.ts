import type { Store } from '../../server/store/db.ts'
import { dumpedTables, loadMigrations } from '../../server/store/migrations.ts'

/**
 * Every value in the tables of a backup, as text, so that tests can look for secrets. Bytes are
 * read as Latin-1.
 */
export async function storedTexts(store: Store): Promise<Map<string, string[]>> {
  const texts = new Map<string, string[]>()
  for await (const { table, rows } of store.snapshot(dumpedTables(loadMigrations()))) {
    const values = rows.flat().map(textOf)
    texts.set(table, [...(texts.get(table) ?? []), ...values])
  }
  return texts
}

const textOf = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)

/** Forms in which tests look for a secret: its bytes, hex, and base64 of both alphabets, with or without padding. */
export function formsOf(secret: string | Buffer): string[] {
  const bytes = Buffer.from(secret)
  const base64url = bytes.toString('base64url')
  const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/')
  return [bytes.toString('latin1'), bytes.toString('hex'), base64url, base64]
}
