import { setImmediate as nextTurn } from 'node:timers/promises'
import { deadlineExceeded } from '../../../aip/errors.ts'

/** Awaited after each page that is read. */
export type Pause = () => Promise<void>

/**
 * Lets other calls run: the embedded store answers within the same turn of the event loop.
 * Throws after the deadline. `deadline` and `clock` are in milliseconds since 1970.
 */
export const pauseWithDeadline =
  (deadline: number, clock: () => number): Pause =>
  async () => {
    await nextTurn()
    if (clock() > deadline) throw deadlineExceeded()
  }
