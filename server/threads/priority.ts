// Priorities of the threads of this process. Only Linux has priorities of single threads; elsewhere, a change would affect
// the whole process, so nothing is changed.
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * The nice value of background threads. Beside a busy thread of the server, such a thread gets 3 %
 * of a processor. With 10 it would get 10 %, and in `npm run soak` the event loop waited 1.5 times
 * as long for a processor.
 */
const backgroundPriority = 15

/** Lets the other threads of this process run before the thread that calls this. */
export function runInBackground(): void {
  if (process.platform === 'linux') setPriority(0, backgroundPriority)
}

/**
 * The nice value of the threads in which V8 collects garbage and optimizes code for all threads of the process. With the
 * same priority as the event loop, they often had both processors of a machine with two: in `npm run soak`, the p99 of
 * well-behaved clients was 1.5 to 2 times as long. The heap becomes up to 25 MB larger meanwhile, because garbage is
 * found later.
 */
const enginePriority = 10

/** Lets event loops run before the threads of V8, which exist as soon as Node has started. */
export function lowerPriorityOfV8(): void {
  if (process.platform !== 'linux') return
  const tasks = '/proc/self/task'
  const priority = Math.max(enginePriority, getPriority())
  try {
    for (const thread of readdirSync(tasks))
      if (readFileSync(`${tasks}/${thread}/comm`, 'utf8') === 'V8Worker\n')
        setPriority(Number(thread), priority)
  } catch {
    // Without /proc, or without the right to set priorities, the server works as well, but more slowly under attack.
  }
}
