// The lines of a backup; backup.ts describes their order. A damaged or forged file may contain any JSON, so each line
// is checked.
import type { Value } from './sql.ts'

export type BackupLine =
  | { stemma: 'backup'; edition: number; migrations: string[] }
  | { table: string; columns: string[] }
  | JsonValue[]
  | { end: number }

export type JsonValue = string | number | null | { base64: string }

/** The backup cannot be restored. Has a code, so that commands print the message without a stack trace. */
export class BackupError extends Error {
  readonly code = 'BACKUP'
}

/** The version of the backup format. */
export const backupEdition = 1

const damaged = () => new BackupError('this is not a backup of Stemma, or it is damaged')

export function readBackupLine(text: string): BackupLine {
  const line = parse(text)
  const isTableRowOrEnd = Array.isArray(line) ? line.every(isValue) : isTable(line) || isEnd(line)
  if (isTableRowOrEnd && !(isObject(line) && 'stemma' in line)) return line as BackupLine
  if (!isHeader(line)) throw damaged()
  if (line.edition !== backupEdition)
    throw new BackupError('this is not a backup of Stemma, or it has another format version')
  return line
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged()
  }
}

type Members = { [name: string]: unknown }

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isHeader = (line: unknown): line is Extract<BackupLine, { stemma: string }> =>
  isObject(line) && line.stemma === 'backup' && isListOf(line.migrations, isText)

/** The names of tables and columns become part of SQL, so only identifiers are accepted. */
const isTable = (line: unknown) => isObject(line) && isName(line.table) && isListOf(line.columns, isName)

const isEnd = (line: unknown) => isObject(line) && typeof line.end === 'number'

const isListOf = (list: unknown, isItem: (item: unknown) => boolean) =>
  Array.isArray(list) && list.every(isItem)

const isText = (value: unknown) => typeof value === 'string'

const isName = (value: unknown) => typeof value === 'string' && /^[a-z][a-z0-9_]*$/.test(value)

const isValue = (value: unknown) =>
  value === null || ['string', 'number'].includes(typeof value) || (isObject(value) && isText(value.base64))

export const toJson = (value: Value): JsonValue =>
  value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value

export const fromJson = (value: JsonValue): Value =>
  typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value
