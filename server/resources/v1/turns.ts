// Lets only one of the v1 lists read its next page in each turn of the event loop. If every list read a page in every
// turn, 24 long lists would delay every other call by 24 pages.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Resolves in a turn of the event loop in which no other caller of this function continues. */
export type WaitForTurn = () => Promise<void>

export function openTurns(): WaitForTurn {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => nextTurn())
    return last
  }
}
