// A log of the server that tests can read.
import { Writable } from 'node:stream'
import type { Log } from '../../server/log.ts'
import { logTo } from '../../server/log.ts'

/** Each element of `written` has one or more lines. */
export type CapturedLog = { log: Log; written: string[] }

export function captureLog(level: string): CapturedLog {
  const written: string[] = []
  const sink = new Writable({
    write(chunk, _, done) {
      written.push(String(chunk))
      done()
    },
  })
  return { log: logTo(sink, level), written }
}
