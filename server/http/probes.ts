// The paths that operators watch: liveness, readiness and metrics.
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { PlainPaths } from './plain-paths.ts'
import { textResponse } from './plain-paths.ts'

export type ProbeOptions = {
  /** Throws or rejects if the store cannot be reached. */
  pingStore(): MaybePromise<unknown>
  isDraining(): boolean
}

export function probePaths({ pingStore, isDraining }: ProbeOptions): PlainPaths {
  return {
    '/healthz': () => textResponse(200, 'ok\n'),
    '/readyz': () => {
      if (isDraining()) return textResponse(503, 'draining\n')
      return recover(
        () => andThen(pingStore(), () => textResponse(200, 'ok\n')),
        () => textResponse(503, 'the store cannot be reached\n'),
      )
    },
  }
}

type MetricsRegistry = { contentType: string; metrics(): Promise<string> }

export const metricsPath = (registry: MetricsRegistry): PlainPaths => ({
  '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
})
