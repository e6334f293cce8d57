import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'

/** `line` takes the fields of a line as they will stand in it: the shortest way, for what every call writes. */
export type Log = Logger & { line(fields: string): void }

type Sink = { write(text: string): unknown }

/** Lines of JSON on standard output; gathered where nobody watches, since a write for each call is dear. */
export function openLog(level: string, isGathered = !isatty(1)): Log {
  const output = destination({ dest: 1, sync: true })
  return logTo(isGathered ? gather(output) : output, level)
}

export function logTo(sink: Sink, level: string): Log {
  const log = pino({ level, base: null, timestamp: stamp }, sink)
  const line = (fields: string) => {
    if (log.isLevelEnabled('info')) sink.write(`${opening()}${fields}}\n`)
  }
  return Object.assign(log, { line })
}

const largestPile = 16 * 1024
const longestWait = 200

/** Writes many lines at once: soon, when there are enough, and at the end of the process. */
function gather(output: Sink) {
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

const stamp = () => `,"time":"${new Date().toISOString()}"`

let openedAt = 0
let opened = ''

/** Written once for all lines of a millisecond. */
function opening(): string {
  const now = Date.now()
  if (now !== openedAt) {
    openedAt = now
    opened = `{"level":${pino.levels.values.info}${stamp()},`
  }
  return opened
}
