/**
 * Waits for a promise. Rejects with the reason of the signal if the signal is aborted first.
 *
 * @example
 * ```ts
 * const signal = AbortSignal.timeout(1_000)
 * const response = await abortable(signal, fetch('http://localhost:9000/token'))
 * ```
 */
export function abortable<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * Waits for a time. Rejects with the reason of the signal if the signal is aborted first.
 *
 * @example
 * ```ts
 * const controller = new AbortController()
 * await sleep(100, controller.signal)
 * ```
 */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await abortable(signal, elapsed).finally(() => clearTimeout(timer))
}

/**
 * A running timeout. Call `clear` when the work is done.
 *
 * @example
 * ```ts
 * const timeout: Timeout = startTimeout(5_000, () => new Error('too slow'))
 * timeout.pause() // while the caller processes a chunk
 * timeout.restart() // another 5 seconds for the next chunk
 * timeout.clear()
 * ```
 */
export type Timeout = {
  /** Aborted at the timeout, or together with the outer signal. */
  signal: AbortSignal
  /** Starts the timer again, with the full time. */
  restart(): void
  /** Stops the timer until `restart`. */
  pause(): void
  clear(): void
}

/** The longest delay that setTimeout supports, about 25 days. A longer timeout never expires. */
const maxDelayMs = 2 ** 31 - 1

/**
 * Starts a timeout. Its signal is aborted with `reason()` when the time is over, or with the reason of the outer signal
 * when the outer signal is aborted.
 *
 * @example
 * ```ts
 * const timeout = startTimeout(5_000, () => new Error('no answer within 5 s'))
 * try {
 *   await fetch('http://localhost:8080/healthz', { signal: timeout.signal })
 * } finally {
 *   timeout.clear()
 * }
 * ```
 */
export function startTimeout(milliseconds: number, reason: () => unknown, outer?: AbortSignal): Timeout {
  const controller = new AbortController()
  const abort = () => controller.abort(outer?.reason)
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = () => clearTimeout(timer)
  const restart = () => {
    pause()
    if (milliseconds <= maxDelayMs) timer = setTimeout(() => controller.abort(reason()), milliseconds)
  }
  if (outer?.aborted) abort()
  else outer?.addEventListener('abort', abort, { once: true })
  restart()
  const clear = () => {
    pause()
    outer?.removeEventListener('abort', abort)
  }
  return { signal: controller.signal, restart, pause, clear }
}
