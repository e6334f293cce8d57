// The ranges of OSV records: which versions of a package are affected.
import type { Fields } from './json-fields.ts'
import { fieldsOf, labelIn, listIn, textIn } from './json-fields.ts'
import { maxLength } from './limits.ts'
import type { AffectedPackage } from './osv-packages.ts'

type Range = { type: string; events?: readonly Readonly<Record<string, string>>[] | null }

/**
 * An entry of `affected` in a stored record. Its types were checked when the record was imported, but lists may be
 * missing or null.
 */
export type Affected = {
  package?: { ecosystem: string; name: string; purl?: string } | null
  ranges?: readonly Range[] | null
  versions?: readonly string[] | null
}

/** The last fixed version of each range. Commits are returned only if there are no versions. */
export function fixesOf({ entries }: AffectedPackage): string[] {
  const [versions, commits] = [new Set<string>(), new Set<string>()]
  for (const { entry, path } of entries) {
    listIn(entry, 'versions', path) // only checks that it is a list, because exports rely on this
    listIn(entry, 'ranges', path).forEach((item, at) => {
      const rangePath = `${path}ranges[${at}]`
      const range = fieldsOf(item, rangePath)
      const isGit = textIn(range, 'type', `${rangePath}.`) === 'GIT'
      const fix = lastFix(range, `${rangePath}.`)
      if (fix !== undefined) (isGit ? commits : versions).add(fix)
    })
  }
  return [...(versions.size > 0 ? versions : commits)]
}

/**
 * The last fixed version in the list. It is the highest one if the events are sorted, which OSV
 * recommends but does not require.
 */
function lastFix(range: Fields, path: string): string | undefined {
  let fix: string | undefined
  listIn(range, 'events', path).forEach((item, at) => {
    const event = fieldsOf(item, `${path}events[${at}]`)
    if (event.fixed !== undefined) fix = labelIn(event, 'fixed', `${path}events[${at}].`, maxLength.version)
  })
  return fix
}

/** All versions before the fix, or all versions if `fix` is ''. */
export const rangeUpTo = (fix: string): Range => ({
  type: 'ECOSYSTEM',
  events: [{ introduced: '0' }, ...(fix === '' ? [] : [{ fixed: fix }])],
})

/** The entry without ranges and versions, which means that no version is affected. */
export function withoutVersions(entry: Affected): Affected {
  const { ranges: _ranges, versions: _versions, ...otherFields } = entry
  return otherFields
}

const fixedIn = (range: Range) => (range.events ?? []).flatMap(({ fixed }) => fixed ?? [])

/**
 * Adds a fixed version to the entries of a package, unless one of their ranges has it already. It is added to the last
 * range of versions without a fix or, if all have fixes, to the last one. Without ranges of versions, a new range is
 * added; ranges of commits are not changed.
 */
export function withFix(entries: readonly Affected[], fix: string): readonly Affected[] {
  const allRanges = entries.flatMap((entry) => entry.ranges ?? [])
  if (fix === '' || allRanges.some((range) => fixedIn(range).includes(fix))) return entries
  const versionRanges = allRanges.filter(({ type }) => type !== 'GIT')
  const rangeToFix = versionRanges.findLast((range) => fixedIn(range).length === 0) ?? versionRanges.at(-1)
  return entries.map((entry, at) => {
    const ranges = (entry.ranges ?? []).map((range) => (range === rangeToFix ? addFix(range, fix) : range))
    const newRanges = !rangeToFix && at === entries.length - 1 ? [rangeUpTo(fix)] : []
    const versions = entry.versions?.filter((version) => version !== fix)
    return { ...entry, ranges: [...ranges, ...newRanges], ...(versions && { versions }) }
  })
}

/** Removes `last_affected`, which the schema does not allow in a range that has `fixed`. */
const addFix = (range: Range, fix: string): Range => ({
  ...range,
  events: [...(range.events ?? []).filter((event) => event.last_affected === undefined), { fixed: fix }],
})
