// Imports the versions of packages with their ends of life. Each record replaces the versions of one package.
import { operatorAccessFor } from '../../policy/system-access.ts'
import { PackageError, parsePackage } from '../../resources/registry/packages/parse-package.ts'
import type { PackageChange } from '../../resources/registry/packages/table.ts'
import { replacePackage } from '../../resources/registry/packages/table.ts'
import type { Store } from '../../store/db.ts'
import { openRecords } from './records.ts'

/** How many packages were changed in which way, and how many records cannot be imported. */
export type VersionsSummary = Record<PackageChange | 'broken', number>

const maxReportedErrors = 100

/** `path` is a file, a folder, a zip archive or `-` for standard input. `report` gets a line for each broken record. */
export async function importVersions(
  { store, now }: { store: Store; now(): number },
  path: string,
  report: (line: string) => void,
): Promise<VersionsSummary> {
  const access = operatorAccessFor('stemmad import versions')
  const summary: VersionsSummary = { new: 0, changed: 0, same: 0, removed: 0, broken: 0 }
  for await (const { file, text } of (await openRecords(path)).read()) {
    try {
      const { name, metadata } = parsePackage(text)
      summary[await store.write(() => replacePackage(access, name, metadata, now()))]++
    } catch (error) {
      if (!(error instanceof PackageError)) throw error
      summary.broken++
      if (summary.broken <= maxReportedErrors) report(`${file}: ${error.message}`)
      else if (summary.broken === maxReportedErrors + 1)
        report('further broken records are counted, but not listed')
    }
  }
  return summary
}
