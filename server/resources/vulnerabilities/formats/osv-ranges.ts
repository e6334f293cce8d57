// The ranges of OSV records: which versions of a package are affected.
import type { Part } from './osv-parts.ts'
import type { Fields } from './record-fields.ts'
import { fieldsOf, labelIn, listIn, textIn } from './record-fields.ts'

type Range = { type: string; events: Readonly<Record<string, string>>[] }

/** An entry that was read before, so that its types are known. */
export type Affected = {
  package?: { ecosystem: string; name: string; purl?: string } | null
  ranges?: readonly Range[] | null
  versions?: readonly string[] | null
}

/** The last fix of each range. Commits say it only where no version does: nobody installs a commit. */
export function fixesOf({ entries }: Part): string[] {
  const [versions, commits] = [new Set<string>(), new Set<string>()]
  for (const { entry, path } of entries) {
    listIn(entry, 'versions', path)
    listIn(entry, 'ranges', path).forEach((item, at) => {
      const here = `${path}ranges[${at}]`
      const range = fieldsOf(item, here)
      const isGit = textIn(range, 'type', `${here}.`) === 'GIT'
      const fix = lastFix(range, `${here}.`)
      if (fix !== undefined) (isGit ? commits : versions).add(fix)
    })
  }
  return [...(versions.size > 0 ? versions : commits)]
}

/** Databases list the events of a range in order of version. */
function lastFix(range: Fields, path: string): string | undefined {
  let fix: string | undefined
  listIn(range, 'events', path).forEach((item, at) => {
    const event = fieldsOf(item, `${path}events[${at}]`)
    if (event.fixed !== undefined) fix = labelIn(event, 'fixed', `${path}events[${at}].`, 255)
  })
  return fix
}

/** Everything before the fix, or everything where there is none. */
export const rangeUpTo = (fix: string): Range => ({
  type: 'ECOSYSTEM',
  events: [{ introduced: '0' }, ...(fix === '' ? [] : [{ fixed: fix }])],
})

export function notAffected(entry: Affected): Affected {
  const { ranges: _ranges, versions: _versions, ...rest } = entry
  return rest
}

const fixedIn = (range: Range) => range.events.flatMap(({ fixed }) => fixed ?? [])

/** The entries of a package with a fix that they may not know yet. */
export function withFix(entries: readonly Affected[], fix: string): readonly Affected[] {
  const ranges = entries.flatMap((entry) => entry.ranges ?? [])
  if (fix === '' || ranges.some((range) => fixedIn(range).includes(fix))) return entries
  const versioned = ranges.filter(({ type }) => type !== 'GIT')
  const open = versioned.findLast((range) => fixedIn(range).length === 0) ?? versioned.at(-1)
  return entries.map((entry, at) => {
    const known = (entry.ranges ?? []).map((range) => (range === open ? closed(range, fix) : range))
    const added = !open && at === entries.length - 1 ? [rangeUpTo(fix)] : []
    const versions = entry.versions?.filter((version) => version !== fix)
    return { ...entry, ranges: [...known, ...added], ...(versions && { versions }) }
  })
}

/** A range has fixes or a last affected version, never both. */
const closed = (range: Range, fix: string): Range => ({
  ...range,
  events: [...range.events.filter((event) => event.last_affected === undefined), { fixed: fix }],
})
