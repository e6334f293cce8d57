import { setPriority } from 'node:os'

/**
 * The nice value of background threads. Beside a busy thread of the server, such a thread gets 3 %
 * of a processor. With 10 it would get 10 %, and in `npm run soak` the event loop waited 1.5 times
 * as long for a processor.
 */
const backgroundPriority = 15

/**
 * Lets the other threads of this process run first. Only Linux has priorities of single threads; elsewhere, this would
 * slow down the whole process.
 */
export function runInBackground(): void {
  if (process.platform === 'linux') setPriority(0, backgroundPriority)
}
