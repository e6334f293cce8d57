// One line of log and one observation for each call; faults of ours are logged in full and masked.
import type { Method } from '@stemma/api/method.ts'
import type { Logger } from 'pino'
import { Counter, Histogram, Registry } from 'prom-client'
import type { Caller } from '../aip/caller.ts'
import { Code, codeName } from '../aip/code.ts'
import { internal, StatusError } from '../aip/errors.ts'
import type { Envelope } from '../aip/passage.ts'

export type Report = (
  method: Method,
  envelope: Envelope,
  caller: Caller | undefined,
  milliseconds: number,
  error: StatusError | undefined,
) => void

export type Metrics = { registry: Registry; calls: Counter; seconds: Histogram }

export function openMetrics(): Metrics {
  const registry = new Registry()
  const labelNames = ['method', 'door']
  const calls = new Counter({
    name: 'stemma_calls_total',
    help: 'Calls by method, door and resulting code',
    labelNames: [...labelNames, 'code'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'stemma_call_seconds',
    help: 'How long calls took',
    labelNames,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  return { registry, calls, seconds }
}

const faults = new Set<Code>([Code.INTERNAL, Code.UNKNOWN, Code.DATA_LOSS, Code.UNAVAILABLE])

export function openReport(log: Logger, { calls, seconds }: Metrics): Report {
  return ({ name: method }, { door, requestId }, caller, milliseconds, error) => {
    const code = codeName(error?.code ?? Code.OK)
    calls.inc({ method, door, code })
    seconds.observe({ method, door }, milliseconds / 1000)
    const line = {
      requestId,
      door,
      method,
      code,
      caller: caller?.identity,
      ms: Math.round(milliseconds * 1000) / 1000,
    }
    if (!error) log.info(line, 'call')
    else if (faults.has(error.code)) log.error({ ...line, err: error.cause ?? error }, 'call failed')
    else log.info({ ...line, reason: error.message }, 'call')
  }
}

export const asStatusError = (thrown: unknown) => (thrown instanceof StatusError ? thrown : internal(thrown))
