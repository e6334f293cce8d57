import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'

/** `line` writes already serialized fields at level info: the fastest way, used for every successful call. */
export type Log = Logger & { line(fields: string): void }

type Sink = { write(text: string): unknown }

export type LogOptions = {
  now?: () => number
  /**
   * Whether lines are collected and many are written at once, because one write per call is slow. By default, only if
   * standard output is not a terminal.
   */
  isBuffered?: boolean
}

/** Writes lines of JSON to standard output. */
export function openLog(level: string, { now = Date.now, isBuffered = !isatty(1) }: LogOptions = {}): Log {
  const output = destination({ dest: 1, sync: true })
  return logTo(isBuffered ? buffer(output) : output, level, now)
}

export function logTo(sink: Sink, level: string, now: () => number = Date.now): Log {
  const timestamp = () => timeField(now())
  const log = pino({ level, base: null, timestamp }, sink)
  const lineStart = openLineStart(now)
  const line = (fields: string) => {
    if (log.isLevelEnabled('info')) sink.write(`${lineStart()}${fields}}\n`)
  }
  return Object.assign(log, { line })
}

const timeField = (time: number) => `,"time":"${new Date(time).toISOString()}"`

/** Level and time of a line, formatted once per millisecond. */
function openLineStart(now: () => number): () => string {
  let formattedTime = 0
  let formatted = ''
  return () => {
    const time = now()
    if (time !== formattedTime) {
      formattedTime = time
      formatted = `{"level":${pino.levels.values.info}${timeField(time)},`
    }
    return formatted
  }
}

const maxBufferedChars = 16 * 1024
const flushAfterMs = 200

/** Flushes when the buffer is full, after a short time, and when the process exits. */
function buffer(output: Sink) {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const lines = buffered
    buffered = ''
    if (lines !== '') output.write(lines)
  }
  process.on('exit', flush)
  return {
    flush,
    write(line: string) {
      buffered += line
      if (buffered.length > maxBufferedChars) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
