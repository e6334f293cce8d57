import { setPriority } from 'node:os'

/**
 * The nice value of background threads. A thread that shares a processor with a busy thread of the server gets 3 % of it.
 * With 10, it would get 10 %, and in the soak the event loop waited for a processor 70 % longer than with 19.
 */
const backgroundPriority = 15

/**
 * Lets the other threads of this process run first. Only Linux has priorities of single threads; elsewhere, this would
 * slow down the whole process.
 */
export function runInBackground(): void {
  if (process.platform === 'linux') setPriority(0, backgroundPriority)
}
