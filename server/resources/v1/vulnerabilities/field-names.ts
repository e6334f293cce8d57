// Faults of advisories are found in terms of v2; callers of v1 are told the fields of their own request.
import { invalidArgument, StatusError } from '../../../aip/errors.ts'
import type { Work } from '../../../store/work.ts'

/** Where a path starts in v2, and where in the request. */
export type Start = readonly [RegExp, string]

/** Whoever sends one event does not know which of all it is. */
const anyEvent = /^events\[\d+\]\./

export const starts = {
  create: [/^/, 'advisory.'],
  update: [/^/, ''],
  createEvent: [anyEvent, 'advisory_event.'],
  updateEvent: [anyEvent, ''],
} as const

const renamed: Start[] = [
  [/\breview_state$/, 'status'],
  [/\bcreate_time$/, 'timestamp'],
  [/\bscanv1\.subpackage$/, 'scanv1.subpackage_name'],
  [/\bscanv1\.component$/, 'scanv1.component_name'],
]

export function* inNamesOfV1<T>(start: Start, work: Work<T>): Work<T> {
  try {
    return yield* work
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const [first, ...others] = error.violations.map(({ field, description }) => ({
      field: [start, ...renamed].reduce((path, [from, to]) => path.replace(from, to), field),
      description,
    }))
    throw first ? invalidArgument(first, ...others) : error
  }
}
