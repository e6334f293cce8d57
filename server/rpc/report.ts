// One line of log and one observation for each call; faults of ours are logged in full and masked.
import type { Method } from '@stemma/api/method.ts'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Code, codeName } from '../aip/code.ts'
import { internal, StatusError } from '../aip/errors.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Series } from './metrics.ts'
import { makeSeries, observe, openRegistry } from './metrics.ts'

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

const ok = codeName(Code.OK)

/** A method at a door, with the words of its lines that are always the same. */
type Told = { series: Series; words: string }

export function openReport(log: CallLog): { report: Report; registry: Registry } {
  const all: Series[] = []
  const known = { rest: new Map<Method, Told>(), grpc: new Map<Method, Told>() }

  function toldOf(method: Method, door: Envelope['door']): Told {
    let told = known[door].get(method)
    if (!told) {
      const series = makeSeries({ method: method.name, door })
      all.push(series)
      told = { series, words: `"door":"${door}","method":"${method.name}","code":"${ok}","caller":"` }
      known[door].set(method, told)
    }
    return told
  }

  const report: Report = (called, { door, requestId }, caller, milliseconds, error) => {
    const { series, words } = toldOf(called, door)
    const code = error ? codeName(error.code) : ok
    observe(series, code, milliseconds / 1000)
    const ms = Math.round(milliseconds * 1000) / 1000
    if (!error && caller) {
      // None of these can hold a character that JSON would escape.
      log.line(`"requestId":"${requestId}",${words}${caller.identity}","ms":${ms},"msg":"call"`)
      return
    }
    const method = called.name
    const line = { requestId, door, method, code, caller: caller?.identity, ms }
    if (!error) log.info(line, 'call')
    else if (faults.has(error.code)) log.error({ ...line, err: error.cause ?? error }, 'call failed')
    else log.info({ ...line, reason: reasonOf(error) }, 'call')
  }

  return { report, registry: openRegistry(all) }
}

/** With what callers are not told. */
function reasonOf(error: Error): string {
  const { message, cause } = error
  return cause instanceof Error ? `${message} (${reasonOf(cause)})` : message
}

export const asStatusError = (thrown: unknown) => (thrown instanceof StatusError ? thrown : internal(thrown))
