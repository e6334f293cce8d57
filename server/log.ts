import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'

export type Log = Logger

/** Lines of JSON on standard output; gathered where nobody watches, since a write for each call is dear. */
export function openLog(level: string, isGathered = !isatty(1)): Log {
  const output = destination({ dest: 1, sync: true })
  return pino({ level, base: null, timestamp: stamp }, isGathered ? gather(output) : output)
}

const largestPile = 16 * 1024
const longestWait = 200

/** Writes many lines at once: soon, when there are enough, and at the end of the process. */
function gather(output: { write(text: string): unknown }) {
  let pile = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const lines = pile
    pile = ''
    if (lines !== '') output.write(lines)
  }
  process.on('exit', flush)
  return {
    flush,
    write(line: string) {
      pile += line
      if (pile.length > largestPile) flush()
      else timer ??= setTimeout(flush, longestWait).unref()
    },
  }
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
