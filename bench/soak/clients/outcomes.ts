// The latencies and errors of one client.

/** Latencies are in milliseconds, from the time at which a call was intended to be sent. */
export type Summary = {
  calls: number
  p50: number
  p99: number
  /** How late calls were sent because the process of the client was delayed; part of the latencies. */
  lateP99: number
  errors: Record<string, number>
}

const maxErrorTexts = 10

export function openOutcomes() {
  const latencies: number[] = []
  const delays: number[] = []
  const errors = new Map<string, number>()
  return {
    latencies,
    onSend: (delay: number) => void delays.push(delay),
    onSuccess: (latency: number) => void latencies.push(latency),
    onError(text: string) {
      const key = errors.has(text) || errors.size < maxErrorTexts ? text : 'further errors'
      errors.set(key, (errors.get(key) ?? 0) + 1)
    },
    errorCount: () => errors.values().reduce((sum, count) => sum + count, 0),
    summary(): Summary {
      const ascending = (values: number[]) => values.toSorted((a, b) => a - b)
      const sorted = ascending(latencies)
      const at = (fraction: number) => percentile(sorted, fraction)
      return {
        ...{ calls: sorted.length, p50: at(0.5), p99: at(0.99) },
        lateP99: percentile(ascending(delays), 0.99),
        errors: Object.fromEntries(errors),
      }
    },
  }
}

/** The percentile by the nearest-rank method. NaN if there are no values. */
export function percentile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)] ?? Number.NaN
}
