import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'

export type Log = Logger

/** A write costs as much as writing ten lines into it; what waits here is written twice a second and at the end. */
const bufferSize = 32 * 1024

/** Lines of JSON on standard output; buffered where nobody watches, since a write for each call is dear. */
export function openLog(level: string, isBuffered = !isatty(1)): Log {
  const output = destination({
    dest: 1,
    sync: !isBuffered,
    minLength: isBuffered ? bufferSize : 0,
    maxWrite: 2 * bufferSize,
    periodicFlush: 500,
  })
  return pino({ level, base: null, timestamp: stamp }, output)
}

let stampedAt = 0
let stamped = ''

/** Written once for all lines of a millisecond. */
function stamp(): string {
  const now = Date.now()
  if (now !== stampedAt) {
    stampedAt = now
    stamped = `,"time":"${new Date(now).toISOString()}"`
  }
  return stamped
}
