// Errors of advisory writes name fields of a v2 advisory; v1 callers get the names of their own request.
import { StatusError } from '../../../aip/errors.ts'
import type { Work } from '../../../store/work.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameViolations } from '../error-fields.ts'

/**
 * The start of the path to an event in a v2 advisory. A v1 request that writes an event contains no other events, so
 * its paths have no index.
 */
const eventPath = /^events\[\d+\]\./

/** For each call: the start of a field path in v2 errors, and its replacement for the v1 request. */
export const pathStart = {
  create: [/^/, 'advisory.'],
  update: [/^/, ''],
  createEvent: [eventPath, 'advisory_event.'],
  updateEvent: [eventPath, ''],
} as const

const renamedFields: FieldRename[] = [
  [/\breview_state$/, 'status'],
  [/\bcreate_time$/, 'timestamp'],
  [/\bscanv1\.subpackage$/, 'scanv1.subpackage_name'],
  [/\bscanv1\.component$/, 'scanv1.component_name'],
  // The published name of this v1 field is not in snake_case.
  [/\blegacy_advisory_id$/, 'legacyAdvisoryID'],
]

/** Runs the work; if it throws, the fields in the error are renamed. */
export function* withV1ErrorFields<T>(start: FieldRename, work: Work<T>): Work<T> {
  try {
    return yield* work
  } catch (error) {
    throw error instanceof StatusError ? renameViolations([start, ...renamedFields], error) : error
  }
}
