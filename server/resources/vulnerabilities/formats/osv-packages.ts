// Splits an OSV record by package: a record describes any number of packages, an advisory one.
import type { Fields } from './json-fields.ts'
import { fieldsOf, labelIn, listIn, textIn } from './json-fields.ts'
import { maxLength, maxStoredCharacters } from './limits.ts'
import { RecordError } from './record-error.ts'

const maxRecordBytes = 2 * 1024 * 1024
const maxPackages = 5000

/** A package with all its entries in `affected`. */
export type AffectedPackage = {
  ecosystem: string
  name: string
  purl: string
  entries: { entry: Fields; path: string }[]
}

/** The packages in `affected`. Skips entries that name no package, such as entries about commits only. */
export function packagesIn(record: Fields): AffectedPackage[] {
  const packages = new Map<string, AffectedPackage>()
  listIn(record, 'affected', '').forEach((item, at) => {
    const path = `affected[${at}]`
    const entry = fieldsOf(item, path)
    if (entry.package === undefined || entry.package === null) return
    const packageFields = fieldsOf(entry.package, `${path}.package`)
    const ecosystem = labelIn(packageFields, 'ecosystem', `${path}.package.`, maxLength.packageType)
    const name = labelIn(packageFields, 'name', `${path}.package.`, maxLength.packageName)
    const purl = textIn(packageFields, 'purl', `${path}.package.`) ?? ''
    const key = `${ecosystem}\0${name}`
    const existing = packages.get(key)
    if (existing) existing.entries.push({ entry, path: `${path}.` })
    else packages.set(key, { ecosystem, name, purl, entries: [{ entry, path: `${path}.` }] })
  })
  if (packages.size > maxPackages) throw new RecordError(`affected must name at most ${maxPackages} packages`)
  return [...packages.values()]
}

/**
 * The record as stored for each package, without the entries about other packages, because the total size of complete
 * copies would grow with the square of the number of packages. `text` is the JSON that `record` was parsed from, if
 * available.
 */
export function storedRecords(
  record: Fields,
  packages: readonly AffectedPackage[],
  text: string | undefined,
): string[] {
  if (packages.length === 0) return []
  if (packages.length === 1) return [compact(record, text)]
  const { affected: _, ...otherFields } = record
  const head = JSON.stringify(otherFields).slice(0, -1)
  if (head.length * packages.length > maxStoredCharacters)
    throw new RecordError(`affected names ${packages.length} packages, too many for a record of this size`)
  return packages.map(({ entries }) => {
    const affected = JSON.stringify(entries.map(({ entry }) => entry))
    return `${head},"affected":${affected}}`
  })
}

/** The record as compact JSON. A `text` without line breaks is returned unchanged, which is faster. */
function compact(record: Fields, text: string | undefined): string {
  const source = text?.trim()
  if (source !== undefined && !source.includes('\n')) return source
  const rendered = JSON.stringify(record)
  requireSize(rendered)
  return rendered
}

export function requireSize(text: string): void {
  if (Buffer.byteLength(text) > maxRecordBytes)
    throw new RecordError(`the record must be at most ${maxRecordBytes} bytes`)
}
