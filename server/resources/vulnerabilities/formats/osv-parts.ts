// An OSV record is about any number of packages; an advisory is about one.
import { RecordError } from './imported.ts'
import type { Fields } from './record-fields.ts'
import { fieldsOf, labelIn, listIn, textIn } from './record-fields.ts'

const mostBytes = 2 * 1024 * 1024
const mostPackages = 5000
/** What all packages of a record keep of it together. */
const mostKept = 64 * 1024 * 1024

/** What a record says of one package, which may be said in several entries. */
export type Part = {
  ecosystem: string
  name: string
  purl: string
  entries: { entry: Fields; path: string }[]
}

/** Entries without a package, as those about commits alone, are about nothing we could name. */
export function partsOf(record: Fields): Part[] {
  const parts = new Map<string, Part>()
  listIn(record, 'affected', '').forEach((item, at) => {
    const path = `affected[${at}]`
    const entry = fieldsOf(item, path)
    if (entry.package === undefined || entry.package === null) return
    const about = fieldsOf(entry.package, `${path}.package`)
    const ecosystem = labelIn(about, 'ecosystem', `${path}.package.`, 255)
    const name = labelIn(about, 'name', `${path}.package.`, 512)
    const purl = textIn(about, 'purl', `${path}.package.`) ?? ''
    const key = `${ecosystem}\0${name}`
    const part = parts.get(key)
    if (part) part.entries.push({ entry, path: `${path}.` })
    else parts.set(key, { ecosystem, name, purl, entries: [{ entry, path: `${path}.` }] })
  })
  if (parts.size > mostPackages) throw new RecordError(`affected must name at most ${mostPackages} packages`)
  return [...parts.values()]
}

/**
 * The texts that the parts keep, each without what is said of other packages: whole copies would grow with the
 * square of their number.
 */
export function textsOf(record: Fields, parts: readonly Part[], text: string | undefined): string[] {
  if (parts.length === 0) return []
  if (parts.length === 1) return [compact(record, text)]
  const { affected: _, ...rest } = record
  const head = JSON.stringify(rest).slice(0, -1)
  if (head.length * parts.length > mostKept)
    throw new RecordError(`affected names ${parts.length} packages, too many for a record of this size`)
  return parts.map(({ entries }) => {
    const affected = JSON.stringify(entries.map(({ entry }) => entry))
    return `${head},"affected":${affected}}`
  })
}

/** JSON has line breaks only where it is spread out for people. */
function compact(record: Fields, text: string | undefined): string {
  const given = text?.trim()
  if (given !== undefined && !given.includes('\n')) return given
  const made = JSON.stringify(record)
  requireSize(made)
  return made
}

export function requireSize(text: string): void {
  if (Buffer.byteLength(text) > mostBytes)
    throw new RecordError(`the record must be at most ${mostBytes} bytes`)
}
