import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'
import { withLock } from './threads/lock.ts'

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
  /** Held while lines are written, if several threads write to standard output. */
  outputLock?: Int32Array<SharedArrayBuffer>
}

/** Writes lines of JSON to standard output. */
export function openLog(
  level: string,
  { now = Date.now, isBuffered = !isatty(1), outputLock }: LogOptions = {},
): Log {
  const standardOutput = destination({ dest: 1, sync: true })
  const output = outputLock ? lockedSink(standardOutput, outputLock) : standardOutput
  return logTo(isBuffered ? buffer(output) : output, level, now)
}

/** A write of more than PIPE_BUF bytes to a pipe may be mixed with that of another thread. */
const lockedSink = (sink: Sink, lock: Int32Array<SharedArrayBuffer>): Sink => ({
  write: (text) => withLock(lock, () => sink.write(text)),
})

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
    process.off('exit', flush)
    const lines = buffered
    buffered = ''
    if (lines !== '') output.write(lines)
  }
  return {
    flush,
    write(line: string) {
      // Listens only while lines wait, so that a log that is no longer used leaves no listener.
      if (buffered === '') process.on('exit', flush)
      buffered += line
      if (buffered.length > maxBufferedChars) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
