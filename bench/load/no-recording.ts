// The module that without-recording.ts loads in place of server/store/events/record.ts. Its functions record nothing.
import type { PreparedEvent } from '../../server/store/events/record.ts'
import type { Work } from '../../server/store/work.ts'

function* recordNothing(): Work<void> {}

export const recordEvent = recordNothing
export const recordEvents = recordNothing
export const recordWithOrigins = recordNothing
export const recordPrepared = recordNothing
export const recordStored = recordNothing

export const prepareEvent = (): PreparedEvent => ({ id: '', root: '', time: 0, row: [] })

// biome-ignore lint/correctness/useYield: it needs no statement.
export function* withoutRecorded(events: readonly PreparedEvent[]): Work<readonly PreparedEvent[]> {
  return events
}
