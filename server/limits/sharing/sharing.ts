import type { Exchange } from './shared-usage.ts'

export type Sharing = {
  /** Exchanges usage now. */
  exchange(): Promise<void>
  stop(): Promise<void>
}

/** Exchanges usage at once, and then every second. */
export function startSharing(
  { exchange, leave }: Exchange,
  onError: (error: unknown) => void,
  intervalMs = 1000,
): Sharing {
  let running: Promise<void> | undefined
  const run = () => {
    running ??= exchange()
      .catch(onError)
      .finally(() => {
        running = undefined
      })
    return running
  }
  const timer = setInterval(run, intervalMs).unref()
  void run()
  return {
    exchange: run,
    async stop() {
      clearInterval(timer)
      await running
      await leave().catch(onError)
    },
  }
}

/** For a server with one thread and no other copies. */
export const noSharing: Sharing = { exchange: async () => {}, stop: async () => {} }
