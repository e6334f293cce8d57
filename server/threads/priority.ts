// Priorities of the threads of this process. Only Linux has priorities of single threads; elsewhere, a change would affect
// the whole process, so nothing is changed.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * The nice value of background threads. Beside a busy thread of the server, such a thread gets 3 %
 * of a processor. With 10 it would get 10 %, and in `npm run soak` the event loop waited 1.5 times
 * as long for a processor.
 */
const backgroundPriority = 15

/** Lets the other threads of this process run before the thread that calls this. */
export function runInBackground(): void {
  lowerPriorities(backgroundPriority, () => [0])
}

/**
 * The nice value of a background thread while it loads its program. With that of background threads, a first call had no
 * answer after a minute on a machine with eight busy processes for two processors.
 */
const loadingPriority = 5

/** Lets event loops run before the thread that calls this, until it calls `runInBackground`. */
export function loadInBackground(): void {
  lowerPriorities(loadingPriority, () => [0])
}

/**
 * The nice value of the threads in which V8 collects garbage and optimizes code for all threads of the process. With the
 * same priority as the event loop, they often had both processors of a machine with two: in `npm run soak`, the p99 of
 * well-behaved clients was 1.4 to 2.7 times as long. The heap becomes larger, because garbage is found later: with 10, a
 * server on one busy core takes 185 MB in place of 149.
 */
const enginePriority = 5

/** Lets event loops run before the threads of V8, which exist as soon as Node has started. */
export function lowerPriorityOfV8(): void {
  lowerPriorities(enginePriority, threadsOfV8)
}

const tasks = '/proc/self/task'

function threadsOfV8(): number[] {
  // If /proc belongs to another pid namespace, its thread ids are not those of this process.
  if (readlinkSync('/proc/self') !== String(process.pid)) return []
  return readdirSync(tasks)
    .filter((thread) => readFileSync(`${tasks}/${thread}/comm`, 'utf8') === 'V8Worker\n')
    .map(Number)
}

/** 0 stands for the thread that calls this. */
function lowerPriorities(wanted: number, findThreads: () => number[]): void {
  if (process.platform !== 'linux') return
  try {
    // A process may have been started with a lower priority, which only privileged users may raise.
    const priority = Math.max(wanted, getPriority())
    for (const thread of findThreads()) setPriority(thread, priority)
  } catch {
    // Without /proc, or without the right to set priorities, the server works as well, but more slowly under attack.
  }
}
