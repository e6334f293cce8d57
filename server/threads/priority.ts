import { setPriority } from 'node:os'

/** The nice value of background threads: beside a busy thread of the server, they get a tenth of a processor. */
const backgroundPriority = 10

/**
 * Lets the other threads of this process run first. Only Linux has priorities of single threads; elsewhere, this would
 * slow down the whole process.
 */
export function runInBackground(): void {
  if (process.platform === 'linux') setPriority(0, backgroundPriority)
}
