import type { Method } from '@stemma/api/method.ts'
import { malformed } from '../aip/errors.ts'

const maxCallMs = 60_000
/** The lifetime of an access token. A client that stops reading is disconnected earlier. */
const maxStreamMs = 3_600_000

export const maxDurationOf = ({ isStream }: Pick<Method, 'isStream'>) => (isStream ? maxStreamMs : maxCallMs)

const unitMs: Record<string, number> = { H: 3.6e6, M: 6e4, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** The timeout of a call in milliseconds, from its Grpc-Timeout header: at most `maxMs`, which is also the default. */
export function timeoutOf(header: string | string[] | undefined, maxMs: number): number {
  if (header === undefined) return maxMs
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? []
  if (amount === undefined)
    throw malformed('the header Grpc-Timeout must be a number and a unit, such as 10S')
  return Math.min(maxMs, Number(amount) * (unitMs[unit] ?? 0))
}
