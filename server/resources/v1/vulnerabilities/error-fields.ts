// Errors of advisory writes name fields of a v2 advisory; v1 callers get the names of their own request.
import { StatusError } from '../../../aip/errors.ts'
import type { Work } from '../../../store/work.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameViolations } from '../error-fields.ts'

/** A request with one event does not contain the event's index in the advisory. */
const anyEvent = /^events\[\d+\]\./

/** Where the fields of an advisory start in the request of each call. */
export const pathStart = {
  create: [/^/, 'advisory.'],
  update: [/^/, ''],
  createEvent: [anyEvent, 'advisory_event.'],
  updateEvent: [anyEvent, ''],
} as const

const names: FieldRename[] = [
  [/\breview_state$/, 'status'],
  [/\bcreate_time$/, 'timestamp'],
  [/\bscanv1\.subpackage$/, 'scanv1.subpackage_name'],
  [/\bscanv1\.component$/, 'scanv1.component_name'],
]

/** Runs the work; if it throws, the fields in the error are renamed. */
export function* withV1ErrorFields<T>(start: FieldRename, work: Work<T>): Work<T> {
  try {
    return yield* work
  } catch (error) {
    throw error instanceof StatusError ? renameViolations([start, ...names], error) : error
  }
}
