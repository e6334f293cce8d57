// Which format a record has.
import type { Imported } from './imported.ts'
import { RecordError } from './imported.ts'
import { readOpenVex } from './openvex.ts'
import { readOsv } from './osv.ts'
import { readSecdb } from './secdb.ts'

/** `text` is what `value` was parsed from, where it is at hand; `time` is for records that have no times. */
export function readRecord(value: unknown, file: string, time: number, text?: string): Imported[] {
  const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  if ('id' in record && 'modified' in record) return readOsv(record, text)
  const context = record['@context']
  if (typeof context === 'string' && context.startsWith('https://openvex.dev/ns')) return readOpenVex(record)
  if (Array.isArray(record.packages) && record.packages.every(hasPackage))
    return readSecdb(record, file, time)
  throw new RecordError(
    'the record must be of OSV, with id and modified; or of OpenVEX, with an @context that begins with ' +
      'https://openvex.dev/ns; or a security database, with packages that have a pkg each',
  )
}

const hasPackage = (item: unknown) => typeof item === 'object' && item !== null && 'pkg' in item
