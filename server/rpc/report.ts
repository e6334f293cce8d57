// One line of log and one observation for each call; faults of ours are logged in full and masked.
import type { Method } from '@stemma/api/method.ts'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Caller } from '../aip/caller.ts'
import { Code, codeName } from '../aip/code.ts'
import { internal, StatusError } from '../aip/errors.ts'
import type { Envelope } from '../aip/passage.ts'
import type { Series } from './figures.ts'
import { makeSeries, observe, openRegistry } from './figures.ts'

export type Report = (
  method: Method,
  envelope: Envelope,
  caller: Caller | undefined,
  milliseconds: number,
  error: StatusError | undefined,
) => void

/** A log that also takes the fields of a line as they will stand in it. */
export type CallLog = Logger & { line(fields: string): void }

const faults = new Set<Code>([Code.INTERNAL, Code.UNKNOWN, Code.DATA_LOSS, Code.UNAVAILABLE])

export function openReport(log: CallLog): { report: Report; registry: Registry } {
  const known = new Map<string, Series>()

  function seriesOf(method: string, door: Envelope['door']): Series {
    const key = door + method
    let series = known.get(key)
    if (!series) {
      series = makeSeries({ method, door })
      known.set(key, series)
    }
    return series
  }

  const report: Report = ({ name: method }, { door, requestId }, caller, milliseconds, error) => {
    const code = codeName(error?.code ?? Code.OK)
    observe(seriesOf(method, door), code, milliseconds / 1000)
    const ms = Math.round(milliseconds * 1000) / 1000
    if (!error && caller) {
      // None of these can hold a character that JSON would escape.
      log.line(
        `"requestId":"${requestId}","door":"${door}","method":"${method}","code":"${code}","caller":"${caller.identity}","ms":${ms},"msg":"call"`,
      )
      return
    }
    const line = { requestId, door, method, code, caller: caller?.identity, ms }
    if (!error) log.info(line, 'call')
    else if (faults.has(error.code)) log.error({ ...line, err: error.cause ?? error }, 'call failed')
    else log.info({ ...line, reason: reasonOf(error) }, 'call')
  }

  return { report, registry: openRegistry(known) }
}

/** With what callers are not told. */
function reasonOf(error: Error): string {
  const { message, cause } = error
  return cause instanceof Error ? `${message} (${reasonOf(cause)})` : message
}

export const asStatusError = (thrown: unknown) => (thrown instanceof StatusError ? thrown : internal(thrown))
