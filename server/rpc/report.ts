// Logs and measures each call. Every call has a log line, but the lines for refusals of unknown callers are limited
// (refusal-log.ts).
// Internal errors are logged with their cause, which callers never see.
import type { Method } from '@stemma/api/method.ts'
import { Code, codeName } from '../aip/code.ts'
import type { StatusError } from '../aip/errors.ts'
import type { Log } from '../log.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Series } from './metrics.ts'
import { makeSeries, observe } from './metrics.ts'
import type { RefusalLog } from './refusal-log.ts'

export type Report = (
  method: Method,
  envelope: Envelope,
  caller: Caller | undefined,
  milliseconds: number,
  error: StatusError | undefined,
) => void

const serverErrors = new Set<Code>([Code.INTERNAL, Code.UNKNOWN, Code.DATA_LOSS, Code.UNAVAILABLE])

const isServerError = ({ code }: StatusError) => serverErrors.has(code)

const ok = codeName(Code.OK)

/** The metrics of a method at a door, and the constant part of the log lines of its successful calls. */
type MethodReport = { series: Series; fields: string }

/** A series is added to `series` when a method is first called at a door. */
export function openReport(log: Log, refusals: RefusalLog): { report: Report; series: readonly Series[] } {
  const allSeries: Series[] = []
  const byDoor: Record<Envelope['door'], Map<Method, MethodReport>> = {
    ...{ rest: new Map(), grpc: new Map(), oci: new Map(), authzen: new Map() },
  }

  function methodReportOf(method: Method, door: Envelope['door']): MethodReport {
    let methodReport = byDoor[door].get(method)
    if (!methodReport) {
      const series = makeSeries({ method: method.name, door })
      allSeries.push(series)
      const fields = `"door":"${door}","method":"${method.name}","code":"${ok}","caller":"`
      methodReport = { series, fields }
      byDoor[door].set(method, methodReport)
    }
    return methodReport
  }

  const report: Report = (method, { door, requestId, address }, caller, milliseconds, error) => {
    const { series, fields } = methodReportOf(method, door)
    const code = error ? codeName(error.code) : ok
    observe(series, code, milliseconds / 1000)
    const ms = Math.round(milliseconds * 1000) / 1000
    if (!error && caller) {
      // None of these values can contain a character that JSON escapes.
      log.line(`"requestId":"${requestId}",${fields}${caller.identity}","ms":${ms},"msg":"call"`)
      return
    }
    // Anyone can send requests without valid credentials, so the log lines for their refusals are limited.
    if (error && !caller?.identity && !isServerError(error) && !refusals.admit(address, code)) return
    const line = { requestId, door, method: method.name, code, caller: caller?.identity, ms }
    if (!error) log.info(line, 'call')
    else if (isServerError(error)) log.error({ ...line, err: error.cause ?? error }, 'call failed')
    else log.info({ ...line, reason: reasonOf(error) }, 'call')
  }

  return { report, series: allSeries }
}

/** The message of the error and of its causes. Callers do not see the causes. */
function reasonOf(error: Error): string {
  const { message, cause } = error
  return cause instanceof Error ? `${message} (${reasonOf(cause)})` : message
}
