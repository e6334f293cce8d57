// Detects the format of a record and reads it.
import type { ImportedAdvisory } from './imported-advisory.ts'
import { readOpenVex } from './read-openvex.ts'
import { readOsv } from './read-osv.ts'
import { readSecdb } from './read-secdb.ts'
import { RecordError } from './record-error.ts'

/**
 * Records in use have about 7 levels of objects and lists. gRPC returns a record as a Struct, where an object takes three
 * levels of messages, and many clients decode at most 100.
 */
const maxLevels = 30

/** `text` is the JSON that `value` was parsed from, if available. `time` is used for records that contain no times. */
export function readRecord(value: unknown, file: string, time: number, text?: string): ImportedAdvisory[] {
  requireLevels(value, maxLevels)
  const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  if ('id' in record && 'modified' in record) return readOsv(record, text)
  const context = record['@context']
  if (typeof context === 'string' && context.startsWith('https://openvex.dev/ns')) return readOpenVex(record)
  if (Array.isArray(record.packages) && record.packages.every(hasPackage))
    return readSecdb(record, file, time)
  throw new RecordError(
    'the format is unknown: an OSV record has id and modified, an OpenVEX document has an @context that starts with ' +
      'https://openvex.dev/ns, and a security database has packages that each have pkg',
  )
}

const hasPackage = (item: unknown) => typeof item === 'object' && item !== null && 'pkg' in item

function requireLevels(value: unknown, levels: number): void {
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) throw new RecordError(`objects and lists must be nested at most ${maxLevels} levels deep`)
  for (const inner of Array.isArray(value) ? value : Object.values(value)) requireLevels(inner, levels - 1)
}
